package engine

import (
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/window"
)

// TestCalm: a reader at its end makes a step each 0.9 s, and each 1.9 s once no record has come for a minute.
func TestCalm(t *testing.T) {
	for _, c := range []struct {
		name    string
		records time.Duration // ago
		apart   time.Duration // between two words of the reader
		want    window.Standing
	}{
		{"busy, soon", time.Second, 800 * time.Millisecond, window.NoNews},
		{"busy, later", time.Second, 900 * time.Millisecond, window.AtEnd},
		{"a minute", time.Minute, 900 * time.Millisecond, window.AtEnd},
		{"calm, soon", time.Minute + time.Second, 1800 * time.Millisecond, window.NoNews},
		{"calm, later", time.Minute + time.Second, 1900 * time.Millisecond, window.AtEnd},
	} {
		now := int64(time.Hour)
		e := &Engine{opt: Options{Now: func() int64 { return now }}, partitions: map[string]*partition{}, busy: now + int64(c.apart-c.records)}
		chunk := &ingest.Chunk{Partition: "p", CaughtUp: true}
		e.hear(&work{}, chunk)
		now += int64(c.apart)
		if got := e.hear(&work{}, chunk); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Steps without input are rarer in calm, where heartbeats make them.
func TestCalmTicks(t *testing.T) {
	now := int64(time.Hour)
	for records, want := range map[time.Duration]time.Duration{time.Second: tickEvery, calmAfter: tickEvery, calmAfter + time.Second: calmIsLate} {
		e := &Engine{busy: now - int64(records)}
		if got := e.tickAfter(now); got != want {
			t.Errorf("%v after the latest record: %v, want %v", records, got, want)
		}
	}
}
