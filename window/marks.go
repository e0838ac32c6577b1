package window

import (
	"math"
	"slices"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

const (
	// maxMarks are kept of a source, the latest that came: 3 KiB each at most.
	maxMarks = 64
	// markText bounds a mark's texts, bytes.
	markText = 1 << 10
	// maxDuring are listed by a finding, the latest.
	maxDuring = 8
	// aftermath is how long behind its end a mark still concerns a transaction, ns: what a
	// fault left behind is read when it is over.
	aftermath = int64(5 * time.Second)
)

// takeMarks takes in the marks of this source from the next one on that came behind at most
// so many transactions of the batch. It returns the first that is left.
func (s *reports) takeMarks(b *event.Batch, next, behind int) int {
	for ; next < len(b.Marks) && int(b.Marks[next].Before) <= behind; next++ {
		if b.Marks[next].Source == s.cfg.Source {
			s.takeMark(b.Marks[next])
		}
	}
	return next
}

func (s *reports) takeMark(x event.Mark) {
	x.Epoch, x.Name, x.Text = isolation.Cut(x.Epoch, markText), isolation.Cut(x.Name, markText), isolation.Cut(x.Text, markText)
	x.Source = "" // it is the machine's
	same := slices.IndexFunc(s.marks, func(y event.Mark) bool {
		return y.Epoch == x.Epoch && y.Name == x.Name && y.Start == x.Start
	})
	switch {
	case same >= 0 && (x.HasEnd || !s.marks[same].HasEnd):
		s.marks[same] = x
	case same >= 0: // the end came first
	case len(s.marks) < maxMarks:
		s.marks = append(s.marks, x)
	default:
		s.marks = append(slices.Delete(s.marks, 0, 1), x)
	}
}

// during are the marks that concern the members of a finding: one of these ran meanwhile, or
// began no later than aftermath behind it.
func (s *reports) during(members []uint32, epoch string) (list []finding.Mark) {
	if s.untimed {
		return nil
	}
	for i := range s.marks {
		x := &s.marks[i]
		if x.Epoch != "" && x.Epoch != epoch {
			continue
		}
		over := int64(math.MaxInt64)
		if x.HasEnd && x.End < over-aftermath {
			over = x.End + aftermath
		}
		if slices.ContainsFunc(members, func(n uint32) bool {
			t := s.infer.Info(n)
			return t.HasTimes && t.Start <= over && t.End >= x.Start
		}) {
			list = append(list, markOf(x))
		}
	}
	return list[max(0, len(list)-maxDuring):]
}

func markOf(x *event.Mark) finding.Mark {
	f := finding.Mark{Name: x.Name, Text: x.Text, Start: wallTime(x.Start)}
	if x.HasEnd {
		f.End = wallTime(x.End)
	}
	return f
}

// renewMarks lists the marks again that concern a finding which has waited: one may have ended, or
// come, meanwhile. The finding's members are known while it is open.
func (s *reports) renewMarks(f *finding.Finding) {
	if open := s.open.ids[f.ID]; open != nil && len(s.marks) > 0 {
		f.During = s.during(open.members, f.Epoch)
	}
}

// wallTime is a time in ns as findings print it.
func wallTime(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
