package lines

import (
	"slices"
	"testing"
)

// A mark at the beginning of the first line is no part of it; anywhere else it is.
func TestMark(t *testing.T) {
	for _, c := range []struct {
		numbered bool
		next     int64
		text     string
		want     []string
	}{
		{false, 0, Mark + "a\n" + Mark + "b\n", []string{"0:a", "5:" + Mark + "b"}},
		{true, 1, Mark + "a\n" + Mark + "b\n", []string{"1:a", "2:" + Mark + "b"}},
		{false, 9, Mark + "a\n", []string{"9:" + Mark + "a"}},
		{false, 0, Mark + "\na\n", []string{"4:a"}},
		{false, 0, Mark[:2] + "\n", []string{"0:" + Mark[:2]}},
	} {
		for _, size := range []int{1, 100} {
			s := &Splitter{Max: 100, Numbered: c.numbered, Next: c.next}
			if got, _ := feed(s, c.text, size); !slices.Equal(got, c.want) {
				t.Errorf("%q in pieces of %d: %q, want %q", c.text, size, got, c.want)
			}
		}
	}
}
