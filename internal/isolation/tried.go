package isolation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

const triedTitle = "results without an order"

// IsTried says whether the title belongs to a finding that [NameTried] named.
func IsTried(title string) bool { return strings.HasPrefix(title, triedTitle) }

// NameTried names a witness for which no order explains the reads, at these levels and at none
// weaker. The name follows from the first of them.
func NameTried(weakest []Level) Name {
	l, c := weakest[0], classG2
	switch l.Underlying() {
	case ReadCommitted:
		c = classG1c
	case MonotonicAtomicView, ReadAtomic, Causal:
		c = classSingle
	case Prefix, SnapshotIsolation:
		c = classNonadjacent
	}
	f := l.Family
	if l.Special == GeneralizedSI {
		f = Strong
	}
	title := triedTitle
	switch f {
	case StrongSession:
		title += " that keeps sessions"
	case Strong:
		title += " that keeps real time"
	}
	return Name{cycleName(c, f), title, finding.KindViolation, weakest, severity(c, f)}
}

// triedSentence says what was tried, and what each of the reads leaves open that gives no
// dependency by itself.
func triedSentence(w *witness) string {
	var b strings.Builder
	fmt.Fprintf(&b, "every order of these transactions that %s allows was tried, with every choice of what each read may have seen: no order explains all reads", w.Level)
	for _, text := range w.stamped() {
		fmt.Fprintf(&b, "\n  - %s", text)
	}
	for i := range w.Links {
		fmt.Fprintf(&b, "\n  - %s", linkSentence(w, &w.Links[i]))
	}
	for i := range w.Txns {
		t := &w.Txns[i]
		for j := range t.Ops {
			o := &t.Ops[j]
			if text := w.leavesOpen(i, o); text != "" {
				fmt.Fprintf(&b, "\n  - %s", text)
			}
		}
	}
	return b.String()
}

// stamped says in which order trusted commit timestamps put those who changed a register, or an
// element of a set.
func (w *witness) stamped() (all []string) {
	if !w.ByCommit || w.Numeric {
		return nil
	}
	by := map[string][]int{} // writers, by what they wrote
	var cells []string
	for i := range w.Txns {
		t := &w.Txns[i]
		for j := range t.Ops {
			o := &t.Ops[j]
			if !o.Writes() || o.Kind == event.Append || o.Kind == event.Inc || t.Flags&event.HasCommitTS == 0 {
				continue
			}
			c := keyName(o.Key)
			if o.Kind == event.Add || o.Kind == event.Remove {
				c = fmt.Sprintf("%s of %s", clip(o.Value), c)
			}
			if by[c] == nil {
				cells = append(cells, c)
			}
			if !slices.Contains(by[c], i) {
				by[c] = append(by[c], i)
			}
		}
	}
	for _, c := range cells {
		if len(by[c]) < 2 {
			continue
		}
		slices.SortStableFunc(by[c], func(a, b int) int { return cmp.Compare(w.Txns[a].CommitTS, w.Txns[b].CommitTS) })
		var names []string
		for _, i := range by[c] {
			names = append(names, w.short(i))
		}
		all = append(all, fmt.Sprintf("%s changed %s in this order, by their commit timestamps", strings.Join(names, ", "), c))
	}
	return all
}

// leavesOpen says what a read that found nothing, or a sum, may be of, "" for others.
func (w *witness) leavesOpen(i int, o *event.RecordOp) string {
	if o.Kind != event.Read || w.duplicate(i, o.Key) {
		return ""
	}
	by := func(kind event.OpKind) (names []string) {
		for j := range w.Txns {
			for k := range w.Txns[j].Ops {
				if p := &w.Txns[j].Ops[k]; p.Kind == kind && p.Key == o.Key {
					names = append(names, w.short(j))
					break
				}
			}
		}
		return names
	}
	if deleters := by(event.Delete); o.Flags&event.NotFound != 0 && len(deleters) > 0 {
		return fmt.Sprintf("%s found nothing at %s: as it was before all writers, or as %s left it", w.short(i), keyName(o.Key), strings.Join(deleters, " or "))
	}
	if adders := by(event.Inc); len(adders) > 0 {
		return fmt.Sprintf("%s read %s of %s: a sum of some of what %s added", w.short(i), clip(o.Value), keyName(o.Key), strings.Join(adders, ", "))
	}
	return ""
}
