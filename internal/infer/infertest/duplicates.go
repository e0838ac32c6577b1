package infertest

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/internal/infer/ledger"
)

func (r *room) printDuplicates() {
	for _, k := range r.keys("") {
		var lines []string
		for _, v := range r.s.DuplicateVersions()[k] {
			line := "duplicate " + r.version(v)
			ok := r.s.DuplicateReads(v, func(n uint32, maybe bool) { line += fmt.Sprintf(", read by %s (maybe %v)", r.name(n), maybe) })
			var writers []uint32
			r.s.EachWriter(v, func(n uint32) { writers = append(writers, n) })
			line += fmt.Sprintf(", written by %s, searched %v", r.sorted(writers), ok)
			lines = append(lines, line)
		}
		slices.Sort(lines)
		r.printed = append(r.printed, lines...)
	}
}

// printAlone prints which versions with several possible writers are left in their keys by those that have
// retired.
func (r *room) printAlone() {
	gone := func(n uint32) bool { return r.s.Txns[n].Flags&ledger.Retired != 0 }
	var lines []string
	for v := range r.s.Versions {
		if v := uint32(v); r.s.Versions[v].Key != 0 && r.s.IsDuplicate(v) {
			lines = append(lines, fmt.Sprintf("%s left by who is gone: %v", r.version(v), r.s.LeftAlone(v, gone)))
		}
	}
	slices.Sort(lines)
	r.printed = append(r.printed, lines...)
}
