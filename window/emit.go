package window

import (
	"fmt"
	"slices"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
	"github.com/zeebo/xxh3"
)

// countFound counts a finding that is new.
func (m *Machine) countFound(f *finding.Finding) {
	n := m.found[f.Anomaly]
	if f.Expected {
		n[1]++
	} else {
		n[0]++
	}
	m.found[f.Anomaly] = n
}

func (m *Machine) emit(f *openFinding) {
	f.Finding.DetectedAt = m.detectedAt()
	if f.Finding.FoundAt == "" {
		f.Finding.FoundAt = f.Finding.DetectedAt
	}
	m.emitWhenDue(&f.Finding, f.shares, f.due, f.sooner)
}

// hand gives f out, with what it prints cut to its bounds. The machine goes on with the
// whole of it.
func (m *Machine) hand(f finding.Finding) {
	isolation.Bound(&f)
	if i := slices.Index(m.effects.Fallen, f.ID); i >= 0 {
		m.effects.Fallen = slices.Delete(m.effects.Fallen, i, i+1)
	}
	m.effects.Findings = append(m.effects.Findings, f)
}

// detectedAt is the tick, or nothing where no clock is given.
func (m *Machine) detectedAt() string {
	if m.tick == 0 {
		return ""
	}
	return time.Unix(0, m.tick).UTC().Format(time.RFC3339Nano)
}

// identity is the stable id: source, epoch, kind and sorted members as first
// reported. Findings that are not cycles differ by their anomaly as well.
// Those about counters differ by its key too: one transaction can have misread several,
// and a register besides.
func (m *Machine) identity(f *finding.Finding, members []string, cycle bool, counter string) string {
	kind := string(f.Kind)
	if !cycle {
		kind += " " + f.Anomaly
	}
	if counter != "" {
		kind += " of " + counter
	}
	txns := slices.Clone(members)
	slices.Sort(txns)
	h := xxh3.HashString128(fmt.Sprintf("%q %q %q %q", f.Source, f.Epoch, kind, txns))
	return fmt.Sprintf("%016x%08x", h.Hi, uint32(h.Lo))
}

// locate sets the positions of the first and the last member in input order.
func (m *Machine) locate(f *finding.Finding, members []uint32) {
	first, last := "", ""
	var lo, hi uint32
	for _, n := range members {
		x := m.infer.Info(n)
		if first == "" || x.Gen < lo {
			first, lo = m.position(x), x.Gen
		}
		if last == "" || x.Gen > hi {
			last, hi = m.position(x), x.Gen
		}
	}
	f.FirstPosition, f.LastPosition = first, last
}

func (m *Machine) position(x infer.Info) string {
	if int(x.Partition) >= len(m.partitions) {
		return ""
	}
	return positionText(m.partitions[x.Partition].Name, x.Offset)
}
