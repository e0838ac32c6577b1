package window

import (
	"fmt"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/pattern"
)

// Repeats is a key pattern whose plain values repeat, so that nothing is concluded from them
// (docs/proofs.md, section 2).
type Repeats struct {
	Pattern string `json:"pattern"` // "" for the one that keys beyond the bound share
	Why     string `json:"why"`
	Reads   int64  `json:"reads"`   // of plain values of the pattern
	Decided int64  `json:"decided"` // the reads that came before, and named a version
}

func repeatsOf(name string, p *pattern.Pattern) Repeats {
	return Repeats{name, p.Repeats.String(), p.Reads, max(0, p.Reads-p.Undecided)}
}

// ByVersion says that no plain value of the pattern was read so far: the records told versions. So a
// person need not do anything.
func (r *Repeats) ByVersion() bool {
	return r.Reads == 0 && r.Why == pattern.TwoVersions.String()
}

// Keys names the pattern.
func (r *Repeats) Keys() string {
	if r.Pattern == "" {
		return "(all keys beyond the first 4096 patterns)"
	}
	return r.Pattern
}

// String says what it means for a reader, and what to do.
func (r *Repeats) String() string {
	return fmt.Sprintf("%s: %d of %s decided. %s", r.repeat(), r.Decided, finding.Counted(r.Reads, "read is", "reads are"), recordVersions)
}

// recordVersions is the advice about values that repeat.
const recordVersions = "Record a version with each operation (PostgreSQL: xmin)."

func (r *Repeats) repeat() string {
	return fmt.Sprintf("Values of keys %s repeat (%s), so that they do not say which transaction wrote them", r.Keys(), r.Why)
}

func (o *core) noteRepeating(name string, p *pattern.Pattern) {
	o.results.Repeats = append(o.results.Repeats, repeatsOf(name, p))
}

// Repeating are the key patterns whose values repeat, in the order in which they were met.
func (m *Machine) Repeating() []Repeats {
	var all []Repeats
	m.infer.EachPattern(func(name string, p *pattern.Pattern) {
		if p.Repeats != 0 {
			all = append(all, repeatsOf(name, p))
		}
	})
	return all
}

// WrittenTwice are the patterns of keys that were given one value twice, with an example each. There are none without Config.Twice.
func (m *Machine) WrittenTwice() (all []WrittenTwice) {
	for _, x := range m.twice.all {
		all = append(all, *x)
	}
	return all
}
