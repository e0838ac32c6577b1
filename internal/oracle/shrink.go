package oracle

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// Shrink makes h smaller while fails stays true of it, and returns the
// smallest found: it drops transactions, then operations, list elements,
// sessions, times and outcomes, and last renames what is left. fails must be
// true of h and must not keep or change its argument.
func Shrink(h History, fails func(History) bool) History {
	h = h.Clone()
	for shrunk := true; shrunk; {
		shrunk = false
		for _, smaller := range []func(History, int) []History{withoutTxn, withoutOp, simplerTxn} {
			for i := len(h) - 1; i >= 0; i-- {
				for i < len(h) {
					next, ok := firstFailing(smaller(h, i), fails)
					if !ok {
						break
					}
					h, shrunk = next, true
				}
			}
		}
	}
	if r := renamed(h); fails(r.Clone()) {
		return r
	}
	return h
}

func firstFailing(candidates []History, fails func(History) bool) (History, bool) {
	for _, c := range candidates {
		if fails(c.Clone()) {
			return c, true
		}
	}
	return nil, false
}

// withoutTxn is h without transaction i.
func withoutTxn(h History, i int) []History {
	return []History{slices.Delete(h.Clone(), i, i+1)}
}

// withoutOp are the histories with one operation less in transaction i, and
// those with one element less in one of its list reads.
func withoutOp(h History, i int) []History {
	var all []History
	for n := len(h[i].Ops) - 1; n >= 0; n-- {
		c := h.Clone()
		c[i].Ops = slices.Delete(c[i].Ops, n, n+1)
		all = append(all, c)
	}
	for n, o := range h[i].Ops {
		for e := len(o.List) - 1; e >= 0; e-- {
			c := h.Clone()
			c[i].Ops[n].List = slices.Delete(c[i].Ops[n].List, e, e+1)
			all = append(all, c)
		}
	}
	return all
}

// simplerTxn are the histories in which transaction i has one field less.
func simplerTxn(h History, i int) []History {
	var all []History
	if h[i].Session != "" {
		c := h.Clone()
		c[i].Session, c[i].Seq = "", 0
		all = append(all, c)
	}
	if h[i].Status != event.Committed {
		c := h.Clone()
		c[i].Status = event.Committed
		all = append(all, c)
	}
	if h[i].End != 0 {
		c := h.Clone()
		c[i].Start, c[i].End = 0, 0
		all = append(all, c)
	}
	return all
}

// renamed gives ids T1, T2, ..., sessions a, b, ..., keys x, y, z, k4, ... and
// values 1, 2, ... within each key, in order of first use.
func renamed(h History) History {
	h = h.Clone()
	keys, sessions := map[string]string{}, map[string]string{}
	values := map[string]map[int64]int64{}
	value := func(key string, v int64) int64 {
		if values[key] == nil {
			values[key] = map[int64]int64{}
		}
		if values[key][v] == 0 {
			values[key][v] = int64(len(values[key]) + 1)
		}
		return values[key][v]
	}
	for i := range h {
		t := &h[i]
		t.ID = fmt.Sprintf("T%d", i+1)
		if t.Session != "" {
			t.Session = rename(sessions, t.Session, "abcdefgh", "s")
		}
		for n := range t.Ops {
			o := &t.Ops[n]
			for e := range o.List {
				o.List[e] = value(o.Key, o.List[e])
			}
			if !o.IsList && !o.Absent {
				o.Value = value(o.Key, o.Value)
			}
			o.Key = rename(keys, o.Key, "xyzuvw", "k")
		}
	}
	return h
}

// rename gives the n-th new name the n-th letter, or prefix and number beyond.
func rename(known map[string]string, name, letters, prefix string) string {
	if known[name] == "" {
		n := len(known)
		if n < len(letters) {
			known[name] = letters[n : n+1]
		} else {
			known[name] = fmt.Sprintf("%s%d", prefix, n+1)
		}
	}
	return known[name]
}
