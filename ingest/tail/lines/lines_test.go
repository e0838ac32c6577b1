package lines

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/ingest"
)

// feed gives text to s in pieces of the given sizes, the last one repeated, and
// returns OFFSET:LINE of every message before the end, and of those at the end.
func feed(s *Splitter, text string, sizes ...int) (lines, end []string) {
	for i := 0; len(text) > 0; i++ {
		n := min(sizes[min(i, len(sizes)-1)], len(text))
		copy(s.Space(n+3), text[:n])
		lines = append(lines, show(s.Take(n))...)
		text = text[n:]
	}
	return lines, show(s.End())
}

func show(messages []ingest.Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%d:%s", m.Offset, m.Value))
	}
	return out
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, text string
		bytes      string // with byte offsets
		numbers    string // with line numbers
		end        string // the message of End, by byte
		next       int64
	}{
		{"two lines", "ab\ncd\n", "[0:ab 3:cd]", "[1:ab 2:cd]", "[]", 6},
		{"last without feed", "ab\ncd", "[0:ab]", "[1:ab]", "[3:cd]", 5},
		{"empty lines", "\n\nab\n\r\n", "[2:ab]", "[3:ab]", "[]", 7},
		{"carriage return stays", "ab\r\n", "[0:ab\r]", "[1:ab\r]", "[]", 4},
		{"longest", "12345678\nx\n", "[0:12345678 9:x]", "[1:12345678 2:x]", "[]", 11},
		{"one too long", "123456789\nx\n", "[0:123456789 10:x]", "[1:123456789 2:x]", "[]", 12},
		{"far too long", "1234567890abcdef\nx\n", "[0:123456789 17:x]", "[1:123456789 2:x]", "[]", 19},
		{"too long at the end", "x\n1234567890abcdef", "[0:x]", "[1:x]", "[2:123456789]", 18},
		{"nothing", "", "[]", "[]", "[]", 0},
		{"records of Protobuf", "\x12\x02a\n\x12\x00\x12\x01b", "[0:\x12\x02a\n 4:\x12\x00 6:\x12\x01b]", "[1:\x12\x02a\n 2:\x12\x00 3:\x12\x01b]", "[]", 9},
		{"a record between lines", "ab\n\x12\x02\n\ncd\n", "[0:ab 3:\x12\x02\n\n 7:cd]", "[1:ab 2:\x12\x02\n\n 3:cd]", "[]", 10},
		{"the longest record", "\x12\x0812345678x\n", "[0:\x12\x0812345678 10:x]", "[1:\x12\x0812345678 2:x]", "[]", 12},
		{"a record too long", "\x12\x0f123456789012345x\n", "[0:\x12\x0f1234567 17:x]", "[1:\x12\x0f1234567 2:x]", "[]", 19},
		{"half a record", "x\n\x12\x05ab\n", "[0:x]", "[1:x]", "[2:\x12\x05ab\n]", 7},
		{"half a record too long", "x\n\x12\x10abcdefghij", "[0:x]", "[1:x]", "[2:\x12\x10abcdefg]", 14},
		{"half a length", "x\n\x12\x80", "[0:x]", "[1:x]", "[2:\x12\x80]", 4},
		{"a length that is none", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffx\n\x12\x00", "[0:\x12\xff\xff\xff\xff\xff\xff\xff\xff 13:\x12\x00]", "[1:\x12\xff\xff\xff\xff\xff\xff\xff\xff 2:\x12\x00]", "[]", 15},
		{"the tag within a line", "a\x12\x05\nb\n", "[0:a\x12\x05 4:b]", "[1:a\x12\x05 2:b]", "[]", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			for size := 1; size <= len(c.text)+1; size++ {
				s := &Splitter{Max: 8}
				lines, end := feed(s, c.text, size)
				if fmt.Sprint(lines) != c.bytes || fmt.Sprint(end) != c.end || s.Next != c.next {
					t.Errorf("pieces of %d: %v, at the end %v, next %d", size, lines, end, s.Next)
				}
				if s.Pending() != 0 {
					t.Errorf("pieces of %d: %d bytes pending at the end", size, s.Pending())
				}
				s = &Splitter{Max: 8, Numbered: true, Next: 1}
				if lines, _ := feed(s, c.text, size); fmt.Sprint(lines) != c.numbers {
					t.Errorf("pieces of %d: %v with line numbers", size, lines)
				}
			}
		})
	}
}

// The same text in any pieces gives the same messages, and Next plus Pending is
// always the number of bytes taken.
func TestPiecesDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for range 300 {
		text.WriteString(strings.Repeat("x", r.IntN(40)) + "\n")
	}
	want, _ := feed(&Splitter{Max: 30}, text.String(), text.Len())
	for range 50 {
		s, rest := &Splitter{Max: 30}, text.String()
		var got []string
		for taken := int64(0); len(rest) > 0; {
			n := min(1+r.IntN(100), len(rest))
			copy(s.Space(n), rest[:n])
			got = append(got, show(s.Take(n))...)
			rest, taken = rest[n:], taken+int64(n)
			if s.Next+s.Pending() != taken {
				t.Fatalf("next %d and pending %d after %d bytes", s.Next, s.Pending(), taken)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestMessagesAreTheReceivers(t *testing.T) {
	s := &Splitter{Max: 100}
	copy(s.Space(8), "first\nse")
	got := s.Take(8)
	copy(s.Space(8), "cond\nxxx")
	got = append(got, s.Take(8)...)
	copy(s.Space(100), strings.Repeat("y", 100))
	if fmt.Sprint(show(got)) != "[0:first 6:second]" {
		t.Errorf("messages changed under the receiver: %v", show(got))
	}
	if v := append(got[0].Value, "!!!"...); string(got[1].Value) != "second" || len(v) != 8 {
		t.Errorf("appending to a message writes into the next: %q", got[1].Value)
	}
}

func TestLongLineIsNotHeld(t *testing.T) {
	s := &Splitter{Max: 1000}
	for range 1000 {
		for i := range s.Space(1000) {
			s.Space(1000)[i] = 'x'
		}
		s.Take(1000)
		if held := cap(s.buf) + cap(s.cut); held > 8000 {
			t.Fatalf("%d bytes held of a line with a limit of 1000", held)
		}
	}
	if s.Pending() != 1_000_000 || s.Next != 0 {
		t.Errorf("pending %d, next %d", s.Pending(), s.Next)
	}
}

func TestReset(t *testing.T) {
	s := &Splitter{Max: 4}
	feed(s, "abcdefghijk\nzz", 14)
	copy(s.Space(20), "abcdefghijkl")
	s.Take(12)
	s.Reset(50)
	lines, _ := feed(s, "xy\n", 3)
	if fmt.Sprint(lines) != "[50:xy]" {
		t.Errorf("after a reset: %v", lines)
	}
}

func BenchmarkSplit(b *testing.B) {
	const piece = 256 << 10
	text := []byte(strings.Repeat(strings.Repeat("x", 339)+"\n", piece/340+1))[:piece]
	s := &Splitter{Max: DefaultMax}
	lines := 0
	b.ReportAllocs()
	for lines < b.N {
		copy(s.Space(piece), text)
		lines += len(s.Take(piece))
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
}
