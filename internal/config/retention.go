package config

import "time"

// Retention bounds what the data folder keeps. Data beyond either bound are
// removed, the oldest first.
type Retention struct {
	Findings, DeadLetters Keep
	Panes                 time.Duration // age
	// Evidence is the age at which a finding loses its records, and keeps the rest; 0: with the finding.
	Evidence time.Duration
	// Deltas are written between two snapshots. A restart replays at most as many.
	Deltas Keep
}

// Keep is an age and a size; 0 of either: no bound.
type Keep struct {
	Age   time.Duration
	Bytes Size
}

func (r *Retention) fields() []field {
	return []field{
		{"findings", &r.Findings},
		{"evidence", &evidenceKeep{r}},
		{"dead-letters", &r.DeadLetters},
		{"panes", &paneKeep{r}},
		{"deltas", &r.Deltas},
	}
}

func (k *Keep) fields() []field {
	return []field{{"age", period{&k.Age}}, {"bytes", size{&k.Bytes}}}
}

// paneKeep is Panes as a part: a size could follow.
type paneKeep struct{ *Retention }

func (p *paneKeep) fields() []field { return []field{{"age", period{&p.Panes}}} }

// evidenceKeep is Evidence as a part.
type evidenceKeep struct{ *Retention }

func (k *evidenceKeep) fields() []field { return []field{{"age", period{&k.Evidence}}} }

// DefaultRetention keeps findings for 90 days with their evidence, and the rest for 7.
func DefaultRetention() Retention {
	const day = 24 * time.Hour
	return Retention{
		Findings:    Keep{90 * day, 1 * GiB},
		DeadLetters: Keep{7 * day, 256 * MiB},
		Panes:       90 * day,
		Deltas:      Keep{time.Hour, 64 * MiB},
	}
}

func (r *Retention) validate() error {
	var f faults
	for _, x := range []struct {
		name string
		age  time.Duration
	}{{"findings", r.Findings.Age}, {"evidence", r.Evidence}, {"dead-letters", r.DeadLetters.Age}, {"panes", r.Panes}, {"deltas", r.Deltas.Age}} {
		if x.age < 0 {
			f.add(x.name+".age", "retention: %s age %v: must not be negative", x.name, x.age)
		}
	}
	if r.Deltas.Bytes < MiB {
		f.add("deltas.bytes", "retention: deltas bytes %v: want at least 1MiB", r.Deltas.Bytes)
	}
	return f.err()
}
