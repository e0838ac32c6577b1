package kafka

import (
	"strings"
	"testing"
	"time"

	broker "github.com/isowatch/isowatch/internal/broker/kafka"
)

func TestOptions(t *testing.T) {
	reach := broker.Options{Brokers: []string{"localhost:9092"}}
	for _, c := range []struct {
		name   string
		opts   Options
		faults []string // parts of the error; none: valid
	}{
		{"plain", Options{Broker: reach, Topics: []string{"events"}}, nil},
		{"two topics", Options{Broker: reach, Topics: []string{"a.b_c-D", "e"}}, nil},
		{"from a time", Options{Broker: reach, Topics: []string{"e"}, Start: FromTime, StartTime: time.Unix(1, 0)}, nil},
		{"empty", Options{}, []string{"no broker", "no topic"}},
		{"all faults at once", Options{Broker: reach, Topics: []string{"a b", "t", "t"}, Start: 9, MaxBytes: -1, MaxWait: -1},
			[]string{`"a b" is not a topic name`, `"t" is named twice`, "unknown start 9", "MaxBytes -1", "duration is negative"}},
		{"dots", Options{Broker: reach, Topics: []string{".."}}, []string{`".." is not`}},
		{"long", Options{Broker: reach, Topics: []string{strings.Repeat("x", 250)}}, []string{"is not a topic name"}},
		{"no time", Options{Broker: reach, Topics: []string{"e"}, Start: FromTime}, []string{"FromTime needs one"}},
		{"needless time", Options{Broker: reach, Topics: []string{"e"}, StartTime: time.Unix(1, 0)}, []string{"start time is for FromTime"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(c.opts)
			if (err == nil) != (len(c.faults) == 0) {
				t.Fatalf("error %v", err)
			}
			for _, f := range c.faults {
				if !strings.Contains(err.Error(), f) {
					t.Errorf("%q is not in %v", f, err)
				}
			}
		})
	}
}
