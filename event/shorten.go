package event

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
)

// keptOfKey is how much of a long key stays in front of what stands for it, so that it is found among its
// neighbours. A cut within a character is moved before it. A range with a bound beyond mostOfBound is refused where keys
// are shortened, so that what is kept decides whether a key lies in the range.
const (
	keptOfKey   = 16 << 10
	mostOfBound = keptOfKey - 3
)

// shorten replaces the long keys of the record that was decoded behind the mark. It also replaces the long values of
// operations that read or write a register as a whole. Elements of lists and sets stay as they are, since they are
// found in arrays. It is false for a range whose bound cannot be compared with short keys.
func (d *Decoder) shorten(b *Batch, before *mark, size int) bool {
	if d.Long == 0 || size <= min(d.Long, mostOfBound) {
		return true
	}
	changed := false
	for i := before.ops; i < len(b.Ops); i++ {
		o := &b.Ops[i]
		if o.Kind == Range {
			if x := &b.Extras[o.Extra]; max(x.From.Len, x.To.Len) > mostOfBound {
				return d.fail(0, "a bound of a range is longer than "+strconv.Itoa(mostOfBound)+" bytes")
			}
			continue
		}
		if int(o.Key.Len) > max(d.Long, 2*keptOfKey) {
			kept := keptOfKey
			for text := b.Bytes(o.Key); text[kept]&0xc0 == 0x80; kept-- { // within a character
			}
			o.Key = b.AddText(string(b.Bytes(o.Key)[:kept]) + shortText("key", int(o.Key.Len), o.KeyHash))
			o.Flags |= ShortKey
			changed = true
		}
		if int(o.Value.Len) > d.Long && o.Flags&(IsArray|ShortValue) == 0 && (o.Kind == Read || o.Kind == Write || o.Kind == Insert) {
			o.Value = b.AddText(`"` + shortText("value", int(o.Value.Len), o.ValueHash) + `"`)
			o.Flags |= ShortValue
			changed = true
		}
	}
	if !changed || len(b.Txns) != before.txns+1 || uint64(len(b.Data)) > math.MaxUint32-uint64(size) {
		return true
	}
	t := b.Txns[before.txns]
	rec := AppendRecord(nil, b, &t) // what is left is as short as the texts
	before.restore(b)
	if err := d.DecodeRecord(b, t.Pos, rec); err != nil {
		panic(fmt.Sprintf("event: a record that was just written: %v", err))
	}
	return true
}

// shortText stands for a long text.
func shortText(what string, length int, h Hash) string {
	var sum [16]byte
	for i := range 8 {
		sum[i], sum[8+i] = byte(h.Hi>>(56-8*i)), byte(h.Lo>>(56-8*i))
	}
	return fmt.Sprintf("(a %s of %d bytes, xxh3 %s)", what, length, hex.EncodeToString(sum[:]))
}
