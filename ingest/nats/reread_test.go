package nats

import (
	"testing"
)

// A message is read again by its sequence while the stream has it. Other partitions are not this source's.
func TestReread(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", "one", "two")
	source, err := New(Options{Conn: s.nc, Stream: testStream, Subjects: []string{"events.b"}})
	if err != nil {
		t.Fatal(err)
	}
	again := func(partition string, offset int64) string {
		text, err := source.Reread(t.Context(), partition, offset)
		if err != nil {
			return "error"
		}
		return string(text)
	}
	for _, c := range []struct {
		partition string
		offset    int64
		want      string
	}{{"nats:EVENTS", 2, "two"}, {"nats:EVENTS", 3, "error"}, {"nats:EVENTS", 0, "error"}, {"nats:OTHER", 2, "error"}, {"kafka:EVENTS/0", 2, "error"}} {
		if got := again(c.partition, c.offset); got != c.want {
			t.Errorf("%s/%d is %q, want %q", c.partition, c.offset, got, c.want)
		}
	}
	stream, err := s.js.Stream(t.Context(), testStream)
	if err == nil {
		err = stream.DeleteMsg(t.Context(), 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := again("nats:EVENTS", 1); got != "error" {
		t.Errorf("a message that is gone: %q", got)
	}
}
