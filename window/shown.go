package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Where deletes go unseen, somebody may have deleted a list whose elements a reader missed. Such
// a finding waits until the records show that the elements were there afterwards
// (infer.Outlived). Once a member leaves the window nothing can show it any more. The finding is
// then told as uncertain.

// lacked is an isolation.Missed of the transaction with this id.
type lacked struct {
	ID, Key  string
	Elements []string `json:",omitempty"`
	Cleared  bool     `json:",omitempty"` // see infer.Outlived
}

// maxUnshown bounds how many findings wait to be shown. The others are uncertain at once.
const maxUnshown = 1024

// deletesMayBeMissing says whether somebody may have deleted without a record of it here.
func (o *core) deletesMayBeMissing() bool { return o.cfg.Contract.DeletesUnseen || o.mayBeMissing() }

// restOnShown notes what has to be shown of f, whose basis is b. Where all deletes are recorded, it
// rests on that, and nothing has to be shown until a record is known to be missing: see retractAbsence.
func (o *core) restOnShown(f *openFinding, w *finding.Witness, b *isolation.Basis) {
	f.lacked, f.mayLack = nil, nil
	if !b.List || f.Finding.Kind != finding.KindViolation {
		return
	}
	var all []lacked
	for _, x := range b.Missed {
		all = append(all, lacked{ID: w.Txns[x.Txn].ID, Key: x.Key, Elements: x.Elements})
	}
	if o.isShown(f, all) {
		f.mayLack = all // a later record may show that the list had been cleared: see lacked
		return
	}
	f.restOnDeletes()
	if !o.deletesMayBeMissing() {
		f.mayLack = all
		return
	}
	f.lacked = all
	if o.closed {
		f.Finding.Certain, f.lacked = false, nil
	}
}

// restOnDeletes says that f rests on all deletes having come: each is recorded, and no record is missing.
func (f *openFinding) restOnDeletes() {
	if slices.Contains(f.Finding.RestsOn, "deletes=recorded") {
		return
	}
	f.byLists = !slices.Contains(f.Finding.RestsOn, restsOnAbsence)
	if f.byLists {
		f.Finding.RestsOn = append(f.Finding.RestsOn, restsOnAbsence)
	}
	f.Finding.RestsOn = append(f.Finding.RestsOn, "unmonitored-writers=no", "deletes=recorded")
}

// restOnReads takes restOnDeletes back: reads show that nobody had deleted the list.
func (f *openFinding) restOnReads() {
	if f.byLists {
		f.byLists = false
		f.Finding.RestsOn = slices.DeleteFunc(slices.Clone(f.Finding.RestsOn), func(k string) bool {
			return k == restsOnAbsence || k == "unmonitored-writers=no" || k == "deletes=recorded"
		})
	}
}

// mustShow is for f, a finding that nobody was told of, when a record is known to be missing. The
// elements that are shown by now are looked at again when f is due.
func (s *reports) mustShow(f *openFinding) {
	all := f.mayLack
	if len(all) == 0 || !f.Finding.Certain || s.isShown(f, all) {
		return
	}
	f.mayLack = nil
	f.restOnDeletes()
	if i := s.waiting.index(f.Finding.ID); i < 0 || s.closed {
		s.makeUncertain(f)
	} else {
		f.lacked, s.waiting.list[i].Unshown, s.waiting.list[i].Finding.RestsOn = all, true, f.Finding.RestsOn
	}
}

// boundUnshown makes f uncertain if too many wait to be shown.
func (s *reports) boundUnshown(f *openFinding) {
	if len(f.lacked) == 0 {
		return
	}
	waiting := 0
	for i := range s.waiting.list {
		if s.waiting.list[i].Unshown {
			waiting++
		}
	}
	if waiting >= maxUnshown {
		f.Finding.Certain, f.lacked = false, nil
	}
}

// isShown says whether all that f's readers missed is known to be appended later.
func (o *core) isShown(f *openFinding, all []lacked) bool {
	for i := range all {
		x := &all[i]
		n := o.infer.WithID(x.ID, f.Finding.Epoch)
		if n == 0 || !slices.ContainsFunc(x.Elements, func(e string) bool {
			return o.infer.Outlived(n, x.Key, f.Finding.Epoch, e, &x.Cleared)
		}) {
			return false
		}
	}
	return true
}

// mustBeShown says whether w, which is due otherwise, waits for that. It is looked at eight times in
// each max-transaction.
func (m *Machine) mustBeShown(w *waitingFinding) bool {
	f := m.reports.open.ids[w.Finding.ID]
	if !w.Finding.Certain || m.closed || f == nil || f.closed {
		return false
	}
	if !w.Unshown {
		if !m.deletesMayBeMissing() || m.isShown(f, f.mayLack) {
			return false
		}
		f.restOnDeletes() // a record that came since shows that the list was cleared
		f.lacked, f.mayLack, w.Unshown, w.Finding.RestsOn = f.mayLack, nil, true, f.Finding.RestsOn
	}
	if m.isShown(f, f.lacked) {
		f.lacked, w.Unshown = nil, false
		f.restOnReads()
		w.Finding.RestsOn = f.Finding.RestsOn
		return false
	}
	w.Due, w.Sooner = m.clock.watermark+m.infer.Patience()/8, 0
	return true
}

// decideShown makes f uncertain, which is about to be final, unless the records show what it needs.
func (s *reports) decideShown(f *openFinding) {
	if len(f.mayLack) > 0 && s.deletesMayBeMissing() && (s.cfg.Unbounded || s.waiting.index(f.Finding.ID) >= 0) {
		s.mustShow(f)
	}
	if len(f.lacked) == 0 || !f.Finding.Certain {
		return
	}
	if s.isShown(f, f.lacked) {
		f.lacked = nil
		f.restOnReads()
		return
	}
	s.makeUncertain(f)
}
