package event

import (
	"math"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/isowatch/isowatch/event/record"
)

func hashBytes(b []byte) Hash {
	h := xxh3.Hash128(b)
	return Hash{Lo: h.Lo, Hi: h.Hi}
}

// canonical is the canonical text of v in b.Data.
func (d *Decoder) canonical(b *Batch, v token) Span {
	if !v.dirty {
		return Span{d.base + v.off, v.end - v.off}
	}
	off := len(b.Data)
	b.Data = record.AppendCanonical(b.Data, d.rec[v.off:v.end])
	return Span{uint32(off), uint32(len(b.Data) - off)}
}

// text is the raw text of a name: a string unescaped, a number as written. The
// text of an absent token is the zero Span.
func (d *Decoder) text(b *Batch, t token, name string) (Span, bool) {
	switch t.class {
	case absent:
		return Span{}, true
	case isNumber:
		return Span{d.base + t.off, t.end - t.off}, true
	case isString:
		if !t.dirty {
			return Span{d.base + t.off + 1, t.end - t.off - 2}, true
		}
		off := len(b.Data)
		b.Data = record.AppendUnescaped(b.Data, d.rec[t.off+1:t.end-1])
		return Span{uint32(off), uint32(len(b.Data) - off)}, true
	}
	return Span{}, d.fail(int(t.off), name+" is neither a string nor a number")
}

// boolean reads true or false; said is false for an absent token.
func (d *Decoder) boolean(t token, name string) (value, said, ok bool) {
	switch t.class {
	case absent:
		return false, false, true
	case isBool:
		return d.rec[t.off] == 't', true, true
	}
	return false, false, d.fail(int(t.off), name+" is neither true nor false")
}

// integer reads an integer; present is false for an absent token.
func (d *Decoder) integer(t token, name string) (n int64, present, ok bool) {
	if t.class == absent {
		return 0, false, true
	}
	if t.class != isNumber {
		return 0, false, d.fail(int(t.off), name+" is not an integer")
	}
	digits := d.rec[t.off:t.end]
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	var u uint64
	for _, c := range digits {
		if c-'0' > 9 {
			return 0, false, d.fail(int(t.off), name+" is not an integer")
		}
		if u > (limit-uint64(c-'0'))/10 {
			return 0, false, d.fail(int(t.off), name+" is beyond 64 bits")
		}
		u = u*10 + uint64(c-'0')
	}
	if negative {
		return -int64(u), true, true
	}
	return int64(u), true, true
}

// time reads nanoseconds since the Unix epoch, or RFC 3339 with offset.
func (d *Decoder) time(t token, name string) (ns int64, present, ok bool) {
	if t.class != isString {
		return d.integer(t, name)
	}
	var at time.Time
	text := d.rec[t.off+1 : t.end-1]
	if t.dirty {
		text = record.AppendUnescaped(nil, text)
	}
	if err := at.UnmarshalText(text); err != nil {
		return 0, false, d.fail(int(t.off), name+" is neither an integer nor RFC 3339 with offset")
	}
	ns = at.UnixNano()
	if !time.Unix(0, ns).Equal(at) { // years before 1678 or after 2262
		return 0, false, d.fail(int(t.off), name+" is beyond 64 bits of nanoseconds")
	}
	return ns, true, true
}
