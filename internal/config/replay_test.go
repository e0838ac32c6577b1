package config

import (
	"strings"
	"testing"
)

func TestParseBound(t *testing.T) {
	for _, c := range []struct {
		text string
		kind BoundKind
		want string // "": as it was
	}{
		{"2026-03-02T09:00:00Z", AtTime, ""},
		{"2026-03-02T09:00:00.000000001Z", AtTime, ""},
		{"2026-03-02T10:00:00+01:00", AtTime, "2026-03-02T09:00:00Z"},
		{"0", AtOffset, ""},
		{"42", AtOffset, ""},
		{"0:5", AtOffsets, ""},
		{"3:7, 0:5", AtOffsets, "0:5,3:7"},
	} {
		want := c.want
		if want == "" {
			want = c.text
		}
		b, err := ParseBound(c.text)
		if err != nil || b.Kind != c.kind || b.String() != want {
			t.Errorf("%q: kind %d, %s, %v", c.text, b.Kind, b, err)
		}
	}
	for _, text := range []string{"", "-1", "now", "2026-03-02", "2026-03-02T09:00:00", "1:", ":1", "1:2,", "1:2,1:3", "-1:2", "1:-2", "9999-01-01T00:00:00Z", "99999999999999999999"} {
		if b, err := ParseBound(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q is taken as %+v, %v", text, b, err)
		}
	}
}

func TestReplayValidate(t *testing.T) {
	at := func(text string) Bound {
		b, err := ParseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	kafka, nats := &Kafka{Topics: []string{"t"}}, &NATS{Stream: "S"}
	for _, c := range []struct {
		name string
		r    Replay
		want string // "": valid
	}{
		{"file", Replay{Files: []string{"f"}}, ""},
		{"all of a time", Replay{Files: []string{"f", "g"}, NATS: nats, Kafka: kafka, From: at("2026-03-02T09:00:00Z")}, ""},
		{"time and byte", Replay{Files: []string{"f"}, From: at("2026-03-02T09:00:00Z"), To: at("7")}, ""},
		{"offsets", Replay{Kafka: kafka, From: at("0:1"), To: at("0:1")}, ""},
		{"no input", Replay{}, "no input"},
		{"byte of two", Replay{Files: []string{"f", "g"}, From: at("1")}, "from 1: a number"},
		{"sequence and file", Replay{NATS: nats, Files: []string{"f"}, To: at("1")}, "to 1: a number"},
		{"number for Kafka", Replay{Kafka: kafka, To: at("1")}, "PARTITION:OFFSET"},
		{"offsets for NATS", Replay{NATS: nats, To: at("0:1")}, "of one Kafka topic"},
		{"offsets of two topics", Replay{Kafka: &Kafka{Topics: []string{"t", "u"}}, To: at("0:1")}, "of one Kafka topic"},
		{"empty times", Replay{NATS: nats, From: at("2026-03-02T09:00:00Z"), To: at("2026-03-02T09:00:00Z")}, "the range is empty"},
		{"empty sequences", Replay{NATS: nats, From: at("8"), To: at("7")}, "the range is empty"},
		{"no stream", Replay{NATS: &NATS{}}, "no stream"},
		{"no topic", Replay{Kafka: &Kafka{}}, "no topic"},
		{"txn alone", Replay{NATS: nats, Txns: []string{"T"}}, "needs --finding"},
	} {
		c.r.Watch = DefaultWatch(LiveContract())
		err := c.r.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
