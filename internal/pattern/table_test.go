package pattern

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/flat"
)

func TestNormal(t *testing.T) {
	for _, c := range [][2]string{
		{"account/17", "account/#"},
		{"order:00012:line3", "order:#:line#"},
		{"user/6fa459ea-ee8a-3ca4-894e-db77e160355e/name", "user/#/name"},
		{"blob/deadbeef01", "blob/#"},
		{"blob/effaced", "blob/effaced"},
		{"blob/deadbeef", "blob/deadbeef"},
		{"x", "x"},
		{"", ""},
		{"a-1-b22", "a-#-b#"},
		{"6fa459ea-ee8a-3ca4-894e-db77e160355", "#-ee#a-#ca#-#e-#"},
		{"straße7", "straße#"},
	} {
		if got := string(AppendNormal(nil, []byte(c[0]))); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

// names lists the patterns of the table.
func names(t *Table) string {
	var all []string
	t.Each(func(id ID, name string, p *Pattern) {
		if id == 0 {
			return
		}
		if p.Repeats != 0 {
			name += " repeats"
		}
		all = append(all, name)
	})
	return strings.Join(all, "\n")
}

func TestSegmentsMerge(t *testing.T) {
	p := New()
	first, _ := p.Of(0, []byte("user/u-a/balance"))
	p.Get(first).Repeats = CameBack
	var other ID
	for i := range maxTexts {
		text := string(rune('b'+i%20)) + strings.Repeat("x", i/20)
		id, spread := p.Of(0, []byte("user/"+text+"/balance"))
		if i < maxTexts-1 && p.Get(id).Repeats != 0 {
			t.Fatalf("text %d: merged early", i)
		}
		if i == maxTexts-1 && !spread {
			t.Fatal("the sign of a part is not said to have spread")
		}
		if i == 0 {
			other = id
		}
	}
	if !p.Same(first, other) || p.Get(other).Repeats != CameBack {
		t.Errorf("the merged pattern lacks the sign of a part")
	}
	if id, _ := p.Of(0, []byte("user/new/name")); p.Get(id).Repeats != 0 {
		t.Errorf("another pattern below the merged place has the sign")
	}
	if got, want := names(p), "user/#/balance repeats\nuser/#/name"; got != want {
		t.Errorf("patterns:\n%s\nwant:\n%s", got, want)
	}
	if id, _ := p.Of(1, []byte("user/x/balance")); p.Get(id).Repeats != 0 {
		t.Errorf("a sign crosses epochs")
	}
}

func TestBounds(t *testing.T) {
	p := New()
	for a := range 40 {
		for b := range 40 {
			for c := range 40 {
				// Letters only; separators that give places of their own.
				name := fmt.Sprintf("%s/%s:%s", word(a), word(b), word(c))
				p.Of(uint64(a), []byte(name))
			}
		}
	}
	if len(p.all) > MaxPatterns+1 || len(p.nodes) > maxNodes+1 {
		t.Errorf("%d patterns, %d nodes", len(p.all), len(p.nodes))
	}
}

func word(i int) string { return string(rune('a'+i/26)) + string(rune('a'+i%26)) }

// A table that was read back goes on as the one that was written.
func TestSnapshot(t *testing.T) {
	p := New()
	for i := range 60 {
		id, _ := p.Of(0, []byte("user/"+word(i)+"/"+word(i%7)))
		if i == 5 {
			p.Get(id).Repeats = TwoWriters
		}
		r := flat.Reader{Bytes: p.AppendState(flat.NewWriter(nil)).Bytes()}
		q := New()
		q.ReadState(&r)
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		for _, u := range []*Table{p, q} {
			u.Of(7, []byte("item:"+word(i)))
		}
		if names(p) != names(q) {
			t.Fatalf("after %d names:\n%s\nwant:\n%s", i, names(q), names(p))
		}
	}
}
