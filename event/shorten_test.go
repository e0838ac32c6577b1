package event

import (
	"fmt"
	"strings"
	"testing"
)

// TestShorten: a long key and a long value give way to short texts. Their hashes, and so what two records say of each
// other, are those of the whole texts, from the decoder and from the compact record.
func TestShorten(t *testing.T) {
	const long = 1 << 16
	key, value := strings.Repeat("k", 3*long)+"é", strings.Repeat("v", 5*long)
	decode := func(d *Decoder, text string) *Batch {
		b := &Batch{}
		d.Decode(b, Position{Partition: 1, Offset: 7}, []byte(text))
		return b
	}
	text := fmt.Sprintf(`{"txn":"t","session":"s","status":"committed","ops":[{"op":"w","key":%q,"value":%q},{"op":"r","key":"x","value":[%q]},{"op":"append","key":"x","value":%q}]}`, key, value, value, value)
	whole, short := decode(&Decoder{}, text), decode(&Decoder{Long: long}, text)
	if len(short.Txns) != 1 || len(short.Bad) > 0 {
		t.Fatalf("%d transactions, %+v", len(short.Txns), short.Bad)
	}
	again := &Batch{}
	if err := (&Decoder{}).DecodeRecord(again, Position{}, AppendRecord(nil, short, &short.Txns[0])); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*Batch{"decoded": short, "read back": again} {
		for i := range b.Ops {
			o, w := &b.Ops[i], &whole.Ops[i]
			if o.KeyHash != w.KeyHash || o.ValueHash != w.ValueHash {
				t.Errorf("%s: operation %d has other hashes", name, i)
			}
		}
		if n := b.Ops[0].Key.Len; n > 17<<10 {
			t.Errorf("%s: a key of %d bytes", name, n)
		}
		if got, want := b.Text(b.Ops[0].Value), fmt.Sprintf(`"(a value of %d bytes, xxh3 `, len(value)+2); !strings.HasPrefix(got, want) || len(got) > 100 {
			t.Errorf("%s: a value %.100q", name, got)
		}
		if got := b.Text(b.Ops[2].Value); len(got) != len(value)+2 {
			t.Errorf("%s: an element of %d bytes", name, len(got))
		}
		if ContentHash(b, &b.Txns[0]) != ContentHash(whole, &whole.Txns[0]) {
			t.Errorf("%s: another content", name)
		}
	}
	if pos := short.Txns[0].Pos; pos.Offset != 7 || pos.Partition != 1 {
		t.Errorf("position %+v", pos)
	}
	for _, n := range []int{len(key), mostOfBound + 1, mostOfBound} { // that record is short, and other records have long keys
		b := decode(&Decoder{Long: long}, fmt.Sprintf(`{"txn":"t","status":"committed","ops":[{"op":"range","from":%q,"result":[]}]}`, key[:n]))
		if refused := len(b.Bad) == 1 && strings.Contains(b.Bad[0].Reason, "bound"); refused != (n > mostOfBound) {
			t.Errorf("a range with a bound of %d bytes: %+v", n, b.Bad)
		}
	}
	if b := decode(&Decoder{MaxElems: 3}, `{"txn":"t","status":"committed","ops":[{"op":"r","key":"x","value":[1,2]},{"op":"r","key":"y","value":[1,2]}]}`); len(b.Bad) != 1 || len(b.Elems) != 0 {
		t.Errorf("four elements of at most three: %+v", b.Bad)
	}
}
