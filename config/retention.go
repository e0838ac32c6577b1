package config

import "time"

// Retention bounds what the data folder keeps. What is beyond either bound is
// removed, the oldest first.
type Retention struct {
	Findings, DeadLetters, Panes Keep
	// Deltas is what is written between two snapshots: the most that a restart
	// replays.
	Deltas Size
}

// Keep is an age and a size; 0 of either: no bound.
type Keep struct {
	Age   time.Duration
	Bytes Size
}

func (r *Retention) fields() []field {
	return []field{
		{"findings", &r.Findings},
		{"dead-letters", &r.DeadLetters},
		{"panes", &r.Panes},
		{"deltas", size{&r.Deltas}},
	}
}

func (k *Keep) fields() []field {
	return []field{{"age", period{&k.Age}}, {"bytes", size{&k.Bytes}}}
}

// DefaultRetention keeps findings for 90 days and the rest for 7.
func DefaultRetention() Retention {
	const day = 24 * time.Hour
	return Retention{
		Findings:    Keep{90 * day, 1 * GiB},
		DeadLetters: Keep{7 * day, 256 * MiB},
		Panes:       Keep{90 * day, 256 * MiB},
		Deltas:      64 * MiB,
	}
}

func (r *Retention) validate() error {
	var f faults
	for _, x := range []struct {
		name string
		Keep
	}{{"findings", r.Findings}, {"dead-letters", r.DeadLetters}, {"panes", r.Panes}} {
		if x.Age < 0 {
			f.add(x.name+".age", "retention: %s age %v: must not be negative", x.name, x.Age)
		}
	}
	if r.Deltas < MiB {
		f.add("deltas", "retention: deltas %v: want at least 1MiB", r.Deltas)
	}
	return f.err()
}
