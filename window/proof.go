package window

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// A finding about a transaction of unknown outcome rests on the values by which others saw it
// take effect (infer.State.Proofs). While it is live, inference takes it out of the history
// when they no longer show that. Afterwards the values decide.

// unknownOutcome is a horizon finding's text for such a transaction when nothing in memory shows any
// more that it took effect.
const unknownOutcome = "contradiction with a retired transaction of unknown outcome"

// noteUnproven notes a contradiction with n, which nothing in memory shows to have taken effect. The
// value that showed n's effect may have another writer, whose record is on its way. If that record may
// be missing, or the contradiction is not certain anyway, the contradiction is counted.
func (s *reports) noteUnproven(n uint32, certain bool) {
	if !certain || !s.cfg.Contract.Complete || s.infer.Counters.Missing() > 0 {
		s.countOnly(1<<len(s.views)-1, s.clock.noted(n))
		return
	}
	s.noteResting(edgeBasis{version: s.infer.WroteSome(n)}, "outcome", unknownOutcome, s.clock.noted(n))
}

// unproven is the first of the transactions without any evidence that it took effect, 0 if
// there is none.
func (h *finder) unproven(txns []uint32) uint32 {
	for _, n := range txns {
		if h.infer.Info(n).Unknown {
			if _, ok := h.infer.Proofs(nil, n); !ok {
				return n
			}
		}
	}
	return 0
}

// show notes transactions whose reads show an order that f rests on.
func (h *finder) show(f *openFinding, txns []uint32) {
	for _, n := range txns {
		h.infer.Keep(n)
		f.shown = append(f.shown, n)
	}
}

func (o *core) unshow(f *openFinding) {
	for _, n := range f.shown {
		o.infer.LetGo(n)
	}
	f.shown = nil
}

// prove notes what f rests on as of now, if all of it is still in memory;
// otherwise what was noted stays.
func (o *core) prove(f *openFinding) bool {
	var proofs [][]uint64
	for _, n := range slices.Concat(f.members, f.shown) {
		if !o.infer.Info(n).Unknown {
			continue
		}
		var ok bool
		if proofs, ok = o.infer.Proofs(proofs, n); !ok {
			return false
		}
	}
	f.proofs = proofs
	return true
}

// disprove takes the value, which does not name its writer any more, out of the
// groups, and says whether one of them has none left.
func disprove(groups [][]uint64, v uint64) (void bool) {
	for i, g := range groups {
		if slices.Contains(g, v) {
			groups[i] = without(g, v)
			void = void || len(groups[i]) == 0
		}
	}
	return void
}

// without is values, in place, without v.
func without(values []uint64, v uint64) []uint64 {
	return slices.DeleteFunc(values, func(x uint64) bool { return x == v })
}

// countedAmbiguous is the count that countVoid compares with the count before the step.
func (o *core) countedAmbiguous() int64 {
	if o.cfg.Unbounded {
		return o.infer.Counters.Ambiguous + o.infer.Counters.Repeated
	}
	return o.infer.Counters.Ambiguous
}

// countVoid counts the value as ambiguous when inference, which has forgotten
// that it was read, did not. In a window those who read it have frozen, in an order that
// the finding speaks against.
func (m *Machine) countVoid() {
	if m.out.Refused != infer.TooLate && m.countedAmbiguous() == m.ambiguous {
		m.infer.ConclusionFell()
	}
}

// setHistory notes the records of the transactions that f rests on: the members of the witness,
// and the readers that saw unknown ones.
func (o *core) setHistory(f *openFinding, w *finding.Witness) {
	var observers []uint32
	known := slices.Concat(f.members, f.shown)
	for _, n := range known {
		observers = o.infer.Observers(observers, n)
	}
	if w.Anomaly == infer.DuplicateElements || w.Anomaly == infer.FutureRead {
		observers = o.infer.Writers(observers, f.about) // they rest on it being the only writer
	}
	records := slices.Clone(w.Txns)
	for _, n := range observers {
		if !slices.Contains(known, n) {
			records = append(records, o.record(n))
			known = append(known, n)
		}
	}
	isolation.SetHistory(&f.Finding, records, o.sourcesOf(known), o.decoded.text)
}

// addSources notes the records of writers that came behind f.
func (o *core) addSources(f *openFinding) {
	if f.untold == nil && len(f.Finding.History) > 0 {
		isolation.AddHistory(&f.Finding, o.sourcesOf(slices.Concat(f.members, f.shown)), o.decoded.text)
	}
}

// maxSources bounds the records that a finding carries beside those that it rests on.
const maxSources = 16

// sourcesOf are the records of those in memory who wrote what the transactions read, and what these read, the nearest first.
// With them, a check of the finding's records alone finds no garbage reads.
func (o *core) sourcesOf(txns []uint32) (records []event.Record) {
	known := slices.Clone(txns)
	for i := 0; i < len(known) && len(records) < maxSources; i++ {
		from := o.infer.Sources(nil, known[i])
		o.byArrival(from)
		for _, n := range from {
			if !slices.Contains(known, n) && len(records) < maxSources {
				known, records = append(known, n), append(records, o.record(n))
			}
		}
	}
	return records
}

// given tells the verifier how the contract tells versions from each other and orders
// them.
func (o *core) given(w *finding.Witness) {
	c := &o.cfg.Contract
	w.Drift = int64(c.ClockDrift)
	w.Rows, w.Vacant = o.cfg.Rules.Rows, c.DeletesUnseen || c.UnmonitoredWriters
	w.Strangers = c.Existing || c.UnmonitoredWriters
	w.ByVersion, w.Numeric, w.ByCommit = c.ByVersion || c.NumericVersions, c.NumericVersions, c.TrustCommitTS
}
