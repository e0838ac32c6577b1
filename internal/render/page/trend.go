package page

import (
	"fmt"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
)

// Trend is how many findings of a group there are in each of equal stretches of time.
type Trend struct {
	Counts [catalog.Bars]int
	Text   string // the same in words
}

// Bar is one of a trend, in units of its picture.
type Bar struct{ X, Y, Height int }

// Sizes of the picture of a trend.
const (
	barStep   = 5
	barHeight = 28
)

// Bars draw the trend. A bar of any finding can be seen.
func (t *Trend) Bars() (all []Bar) {
	most := 1
	for _, n := range t.Counts {
		most = max(most, n)
	}
	for i, n := range t.Counts {
		if n > 0 {
			h := max(2, n*barHeight/most)
			all = append(all, Bar{i * barStep, barHeight - h, h})
		}
	}
	return all
}

// stretch is the time between the first and the last end of transactions of findings.
type stretch struct {
	first, last int64 // ns
	known       bool
}

// stretchOf is the stretch that all findings are in.
func stretchOf(groups []*cardGroup) (s stretch) {
	for _, g := range groups {
		for _, at := range g.ended {
			if !s.known {
				s = stretch{at, at, true}
			}
			s.first, s.last = min(s.first, at), max(s.last, at)
		}
	}
	return s
}

// bar is how long a bar of the stretch is, ns, at least 1.
func (s stretch) bar() int64 { return int64(uint64(s.last-s.first)/catalog.Bars) + 1 }

// trend counts the findings of a group; nil: the findings are of one instant, or have no times.
func (s stretch) trend(g *cardGroup) *Trend {
	if !s.known || s.first == s.last {
		return nil
	}
	t := &Trend{Text: fmt.Sprintf("findings by when their last transactions ended, %s to %s",
		time.Unix(0, s.first).UTC().Format(time.RFC3339), time.Unix(0, s.last).UTC().Format(time.RFC3339))}
	for _, at := range g.ended {
		t.Counts[uint64(at-s.first)/uint64(s.bar())]++
	}
	return t
}

// Bar says how long a bar of the part's trends is; "": there are no trends.
func (p *shownPart) Bar() string {
	if len(p.Groups) == 0 || p.Groups[0].Trend == nil {
		return ""
	}
	long := time.Duration(stretchOf(p.Groups).bar())
	for _, unit := range []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if long >= 10*unit {
			return finding.Lasting(long.Round(unit))
		}
	}
	return finding.Lasting(long)
}
