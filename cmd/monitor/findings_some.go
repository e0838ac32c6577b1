package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/words"
)

// selection is which findings to print. The zero value is all of them.
type selection struct {
	source, anomaly string
	since           time.Duration // before now, by when this revision was found; 0: at any time
	limit           int           // the latest ones; 0: no limit
	violations      bool          // only those that the verdict VIOLATED is printed with
	now             time.Time

	latest [][]byte // a ring of limit records
	next   int      // where the oldest one is, once the ring is full
}

func (s *selection) flags(f *pflag.FlagSet) {
	f.StringVar(&s.source, "source", "", "print findings of this source only")
	f.StringVar(&s.anomaly, "anomaly", "", "print findings of this anomaly only, such as lost-update")
	f.BoolVar(&s.violations, "violations", false, "print violations of the expected level only, which are certain and not withdrawn")
	f.DurationVar(&s.since, "since", 0, "print findings of the last DURATION only, such as 1h (default: all)")
	f.IntVar(&s.limit, "limit", 0, "print the latest N findings only (default: all)")
}

func (s *selection) any() bool {
	return s.source != "" || s.anomaly != "" || s.since != 0 || s.limit != 0 || s.violations
}

// check says what is wrong with it.
func (s *selection) check() error {
	names := isolation.AnomalyNames()
	base := strings.TrimSuffix(strings.TrimSuffix(s.anomaly, "-process"), "-realtime")
	switch {
	case s.anomaly != "" && !slices.Contains(names, s.anomaly) && !slices.Contains(names, base):
		return usagef("--anomaly: %q is not an anomaly: %s", s.anomaly, isolation.Offer(s.anomaly, names))
	case s.since < 0:
		return usagef("--since %v: want a time before now, such as 1h", s.since)
	case s.limit < 0:
		return usagef("--limit %d: want 1 or more", s.limit)
	}
	return nil
}

// take gives the record to show, or keeps it for rest if there is a limit.
func (s *selection) take(record []byte, show func([]byte) error) error {
	var f struct {
		Source, Anomaly string
		DetectedAt      string `json:"detected_at"`
	}
	if err := json.Unmarshal(record, &f); err != nil {
		return err
	}
	if s.source != "" && f.Source != s.source || s.anomaly != "" && f.Anomaly != s.anomaly {
		return nil
	}
	if s.violations {
		var f finding.Finding
		if err := json.Unmarshal(record, &f); err != nil {
			return err
		}
		if v, _ := words.VerdictOf(&f); v != words.Violated {
			return nil
		}
	}
	if s.since > 0 {
		at, err := time.Parse(time.RFC3339Nano, f.DetectedAt)
		if err != nil || at.Before(s.now.Add(-s.since)) {
			return nil
		}
	}
	switch {
	case s.limit <= 0:
		return show(record)
	case len(s.latest) < s.limit:
		s.latest = append(s.latest, bytes.Clone(record))
	default:
		s.latest[s.next] = bytes.Clone(record)
		s.next = (s.next + 1) % s.limit
	}
	return nil
}

// rest shows what take has kept, the oldest first.
func (s *selection) rest(show func([]byte) error) error {
	for i := range s.latest {
		if err := show(s.latest[(s.next+i)%len(s.latest)]); err != nil {
			return err
		}
	}
	return nil
}
