package verify

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// Values that several transactions wrote or appended, as a client does that tries again.

// leaves says whether one who took effect left the value, or appended it. Nothing, "", is left by all
// who do not write the cell, too.
func (x *tried) leaves(cell, value string) bool {
	for j := range x.effects {
		if e := x.effects[j][cell]; x.used[j] && (e.value == value || slices.Contains(e.appends, value)) {
			return true
		}
	}
	return false
}

// mustCount says whether another one here read what the i-th one, which has not taken effect yet,
// wrote, and nobody else did.
func (x *tried) mustCount(i int) bool {
	for cell, e := range x.effects[i] {
		for j := range x.views {
			if !x.used[j] { // the i-th one itself, or of unknown outcome too: all others are used at the end
				continue
			}
			for k := range x.views[j] {
				v := &x.views[j][k]
				if v.cell != cell || v.other {
					continue
				}
				if slices.ContainsFunc(e.appends, func(s string) bool { return slices.Contains(v.list, s) && !x.leaves(cell, s) }) ||
					e.value == v.value && !x.leaves(cell, e.value) {
					return true
				}
			}
		}
	}
	return false
}

// wroteTo says whether t wrote the value of the register, or added the element, whatever it did with
// it then.
func wroteTo(t *event.Record, name, value string) bool {
	return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool {
		switch o.Kind {
		case event.Write, event.Insert:
		case event.CAS:
			if o.Flags&event.Success == 0 {
				return false
			}
		case event.Add:
			return cellName(o.Key, o.Value) == name
		default:
			return false
		}
		return cellName(o.Key, "") == name && o.Value == value
	})
}

// grows says whether each first read of a list shows a beginning of what it becomes, and no element
// more often than it was appended.
func (x *tried) grows(order []int) bool {
	for _, i := range order {
		for j := range x.views[i] {
			v := &x.views[i][j]
			if !v.first || v.torn { // a view of no list has no elements
				continue
			}
			_, all := x.versions(v.cell, order)
			final := all[len(all)-1].list
			shown := slices.DeleteFunc(slices.Clone(v.list), func(e string) bool { return !slices.Contains(final, e) })
			often := func(e string) bool { return times(shown, e)+times(v.own, e) > times(final, e) }
			if !slices.Equal(shown, final[:min(len(shown), len(final))]) || slices.ContainsFunc(v.own, often) {
				return false
			}
		}
	}
	return true
}

func times(list []string, e string) (n int) {
	for _, s := range list {
		if s == e {
			n++
		}
	}
	return n
}

// stampedBefore says whether the i-th one changes a register, or an element of a set, as one does that has
// taken effect. By trusted commit timestamps the i-th one does not come behind it.
func (x *tried) stampedBefore(i int) bool {
	if !x.w.ByCommit || x.w.Numeric {
		return false
	}
	t := &x.w.Txns[i]
	for j := range x.used {
		if u := &x.w.Txns[j]; !x.used[j] || t.Flags&u.Flags&event.HasCommitTS == 0 || u.CommitTS < t.CommitTS {
			continue
		}
		for cell, e := range x.effects[i] {
			if _, too := x.effects[j][cell]; too && !e.counts && len(e.appends) == 0 {
				return true
			}
		}
	}
	return false
}

// toldOtherwise says whether somebody here wrote the value that the view shows as another version.
func (x *tried) toldOtherwise(v view) bool {
	return slices.ContainsFunc(x.w.Txns, func(t event.Record) bool {
		return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool {
			return o.Writes() && cellName(o.Key, "") == v.cell && o.Value == v.value && o.Version != "" && o.Version != v.told
		})
	})
}
