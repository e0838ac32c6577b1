package config

import (
	"slices"
	"testing"
)

// TestUnits: each stream, subject and topic is a unit, and the settings of a unit have its input alone, at its source.
func TestUnits(t *testing.T) {
	s := DefaultService()
	s.Inputs = []Input{
		{NATS: &NATS{URLs: []string{"h"}, Stream: "A"}},
		{NATS: &NATS{URLs: []string{"h"}, Stream: "B", Subjects: []string{"b.1", "b.2"}}},
	}
	s.Sources = []Source{{Name: "x", Watch: s.Watch, Inputs: []Input{{Kafka: &Kafka{Brokers: []string{"h"}, Topics: []string{"t", "u"}}}}}}
	s.Inputs = append(s.Inputs, Input{Kafka: &Kafka{Brokers: []string{"h"}, Topics: []string{"p", "q"}, Unit: UnitPartition}})
	want := []string{"kafka:t", "kafka:u", "nats:A", "nats:B:b.1", "nats:B:b.2"}
	if got := s.Units(); !slices.Equal(got, want) {
		t.Fatalf("units %v, want %v", got, want)
	}
	if all := s.Partitioned(); len(all) != 1 || all[0].Topics[1] != "q" {
		t.Errorf("partitioned are %v", all)
	}
	for _, none := range []string{"kafka:p", "kafka:p/", "kafka:p/-1", "kafka:p/01", "kafka:t/0", "kafka:r/0"} {
		if s.OfUnit(none) != nil {
			t.Errorf("%s is a unit", none)
		}
	}
	for _, name := range append(want, "kafka:q/12", "kafka:p/0") {
		u := s.OfUnit(name)
		if err := u.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := u.Units(); !slices.Equal(got, []string{name}) {
			t.Errorf("%s has the units %v", name, got)
		}
	}
	if all := s.OfUnit("kafka:u").AllInputs(); len(all) != 1 || all[0].Source != "x" {
		t.Errorf("kafka:u is of %v", all)
	}
	if s.OfUnit("nats:B") != nil || len(s.Units()) != len(want) {
		t.Error("a unit that is none has settings, or the settings have changed")
	}
}
