package lines

import (
	"slices"
	"testing"
)

// Whatever the bytes, the pieces in which they come do not matter, nothing is held
// back at the end, and Next with Pending is always what was taken.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("ab\n\x12\x03a\nb\x12\x20long\nc"), uint8(3))
	f.Add([]byte("\x12\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\n\x12"), uint8(1))
	f.Add([]byte("1234567890abcdef\n\x12\x0f123456789012345x\n"), uint8(4))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		whole := &Splitter{Max: 8}
		want, wantEnd := feed(whole, string(text), len(text)+1)
		s := &Splitter{Max: 8}
		var got []string
		taken := int64(0)
		for rest := text; len(rest) > 0; {
			n := min(1+int(size), len(rest))
			copy(s.Space(n), rest[:n])
			got = append(got, show(s.Take(n))...)
			rest, taken = rest[n:], taken+int64(n)
			if s.Next+s.Pending() != taken {
				t.Fatalf("next %d and pending %d after %d bytes", s.Next, s.Pending(), taken)
			}
		}
		end := show(s.End())
		if !slices.Equal(got, want) || !slices.Equal(end, wantEnd) || s.Next != int64(len(text)) || s.Pending() != 0 {
			t.Fatalf("in pieces of %d: %q, at the end %q, next %d; as a whole %q, %q", 1+int(size), got, end, s.Next, want, wantEnd)
		}
	})
}
