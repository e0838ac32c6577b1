package engine

import (
	"cmp"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/window"
)

// A loss may be of any source, since a lost record may have named any. Only where an input has records of one source alone, other
// sources lose nothing. Then a fault of the step names the source: its gap names the partition, and From counts bad records. A program
// that does not know such faults counts the losses for all sources, which is safe.

// owning notes whether the records of a partition are of one source alone.
func (s *step) owning(part uint32, c *ingest.Chunk) {
	if !c.Only {
		return
	}
	if s.owned == nil {
		s.owned = map[uint32]string{}
	}
	s.owned[part] = cmp.Or(c.Source, event.DefaultSource)
}

// own says of what the step lost whose it was, as far as that is known.
func (s *step) own() {
	if s.bad == 0 && len(s.gaps) == 0 || len(s.owned) == 0 {
		return
	}
	for i, name := range s.batch.Partitions {
		source, ok := s.owned[uint32(i)]
		if !ok {
			continue
		}
		bad, lost := int64(0), false
		for j := range s.batch.Bad {
			if s.batch.Bad[j].Pos.Partition == uint32(i) {
				bad++
			}
		}
		for j := range s.gaps {
			lost = lost || s.gaps[j].Partition == name
		}
		if bad > 0 || lost {
			s.faults = append(s.faults, faultEntry{source, faultOwn, window.Gap{Partition: name, From: bad}})
		}
	}
}

// owner is the only source that lost what the step lost of a partition; "": it may be any.
func (s *step) owner(partition string) string {
	for i := range s.faults {
		if f := &s.faults[i]; f.kind == faultOwn && f.gap.Partition == partition {
			return f.source
		}
	}
	return ""
}

// badOf counts the bad records of the step that may be of a source.
func (s *step) badOf(source string) int64 {
	n := s.bad
	for i := range s.faults {
		if f := &s.faults[i]; f.kind == faultOwn && f.source != source {
			n -= f.gap.From
		}
	}
	return n
}
