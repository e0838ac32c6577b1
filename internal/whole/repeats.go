package whole

import (
	"slices"
	"strings"

	"github.com/isowatch/isowatch/window"
)

// tellRepeats says which values repeat, also where that leaves nothing open: a person may not know it.
func (h *Checking) tellRepeats(r *Report) {
	for _, s := range h.Sources {
		of := ""
		if len(h.Sources) > 1 {
			of = "Source " + s.name + ": "
		}
		twice := s.machine.WrittenTwice()
		var reasons []string
		for i := range twice {
			r.Notes = append(r.Notes, of+twice[i].String())
			reasons = append(reasons, twice[i].Reason())
		}
		r.Repeats = append(r.Repeats, twice...)
		r.NoteRepeating(of, s.machine.Repeating(), twice)
		if len(reasons) > 0 {
			r.addReasons(s.machine, strings.Join(reasons, "; "))
		}
	}
}

// addReasons adds a reason where a level is unknown and the values left reads open.
func (r *Report) addReasons(m *window.Machine, reason string) {
	for level, before := range r.Reasons {
		if m.Totals().Ambiguous > 0 {
			r.Reasons[level] = before + "; " + reason
		}
	}
}

// NoteRepeating notes the patterns of keys whose values repeat, beside those that were told.
func (r *Report) NoteRepeating(of string, all []window.Repeats, told []window.WrittenTwice) {
	for i := range all {
		x := &all[i]
		if !x.ByVersion() && !slices.ContainsFunc(told, func(t window.WrittenTwice) bool { return t.Pattern == x.Pattern }) {
			r.Notes = append(r.Notes, of+x.String())
		}
	}
}
