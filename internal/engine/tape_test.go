package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// lostUpdate are two records of it, written as no encoder of ours does.
func lostUpdate() (one, two string) {
	const record = `{ "ops" :[ {"op":"r","key":"x","value":0},{"value":%d,"key":"x","op":"w","why":"caf\u00e9"} ],"status":"committed", "note":"kept\t","end":"1970-01-01T00:00:02Z","start":1000000000,"txn":"%s" }`
	return fmt.Sprintf(record, 1, "A"), fmt.Sprintf(record, 2, "B")
}

// onTape are the records of the only lost update in chunks, as they came in, by transaction.
func onTape(t *testing.T, o engine.Options, hide string, chunks ...ingest.Chunk) []finding.Raw {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	o.Now = func() int64 { return awayEpoch }
	o.Configure = func(string) window.Config {
		return window.Config{
			Levels: levelsBefore(), Expect: isolation.Level{Base: isolation.Serializable}, Hide: hide,
			Window: window.For(time.Second), Lateness: window.For(20 * time.Millisecond), Contract: window.Contract{Complete: true},
		}
	}
	e, err := engine.Open(st, o)
	if err != nil {
		t.Fatal(err)
	}
	in := make(chan ingest.Chunk, len(chunks))
	for _, c := range chunks {
		in <- c
	}
	close(in)
	if err := e.Run(context.Background(), in, true); err != nil {
		t.Fatal(err)
	}
	var ids []string
	r := engine.Reader{Store: st}
	if err := r.Each(func(f *finding.Finding) error {
		if f.Anomaly == "lost-update" && f.Source == event.DefaultSource {
			ids = append(ids, f.ID)
		}
		return nil
	}); err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	list, err := r.Raw(ids[0])
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(list, func(a, b finding.Raw) int { return strings.Compare(a.Txn, b.Txn) })
	return list
}

func inOneChunk(partition string, messages ...string) ingest.Chunk {
	c := ingest.Chunk{Partition: partition, Cursor: ingest.Cursor{Next: int64(len(messages))}}
	for i, m := range messages {
		c.Messages = append(c.Messages, ingest.Message{Offset: int64(i), Value: []byte(m)})
	}
	return c
}

// A finding has the records of its transactions byte by byte as they came in: a message of one record, one of several lines
// with blank ones between, operations one by one, and Protocol Buffers. A transaction of the same id of another source is
// not among them.
func TestRecordsAsTheyCame(t *testing.T) {
	one, two := lostUpdate()
	other := strings.Replace(one, `"txn"`, `"source":"other", "txn"`, 1)
	texts := func(list []finding.Raw) (all []string) {
		for _, r := range list {
			all = append(all, fmt.Sprintf("%s %s %s%s", r.Txn, r.Position, r.Text, r.Bytes))
		}
		return all
	}
	piece := func(id, rest string) string { return `{"txn":"` + id + `", ` + rest + `}` }
	pieces := []string{
		piece("A", `"type":"begin", "start":1000`), piece("B", `"type":"begin", "start":1000`),
		piece("A", `"type":"op","index":0,"op":"r","key":"x","value":0`), piece("B", `"type":"op","index":0,"op":"r","key":"x","value":0`),
		piece("A", `"type":"op","index":1,"op":"w","key":"x","value":1`), piece("B", `"type":"op","index":1,"op":"w","key":"x","value":2`),
		piece("A", `"type":"commit","end":2000`), piece("B", `"type":"commit","end":2000`),
	}
	var ofPieces []string
	for _, first := range []int{0, 1} {
		for i := first; i < len(pieces); i += 2 {
			ofPieces = append(ofPieces, fmt.Sprintf("%s p:%d %s", "AB"[first:first+1], i, pieces[i]))
		}
	}
	var proto []byte
	var ofProto []string
	var b event.Batch
	var d event.Decoder
	for i, text := range []string{one, two} {
		d.Decode(&b, event.Position{}, []byte(text))
		r := b.Record(&b.Txns[i])
		from := len(proto)
		proto = event.AppendProto(proto, &r)
		record := event.RecordIn(proto[from:], 0)
		if !bytes.HasSuffix(proto, record) || len(record) < 20 {
			t.Fatalf("%q in %q", record, proto)
		}
		ofProto = append(ofProto, fmt.Sprintf("%s nats:S/0 %s", r.ID, record))
	}
	for name, c := range map[string]struct {
		in   ingest.Chunk
		want []string
	}{
		"messages": {inOneChunk("kafka:t/3", one, other, two), []string{"A kafka:t/3/0 " + one, "B kafka:t/3/2 " + two}},
		"lines":    {inOneChunk("p", "\n"+other+"\n \t\n"+one+"\r\n\n"+two), []string{"A p:0 " + one + "\r", "B p:0 " + two}},
		"pieces":   {inOneChunk("p", pieces...), ofPieces},
		"proto":    {inOneChunk("nats:S", string(proto)), ofProto},
	} {
		t.Run(name, func(t *testing.T) {
			if got := texts(onTape(t, engine.Options{}, "", c.in)); !slices.Equal(got, c.want) {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
}

// A long record is cut between two characters, and says how much is left out. A source that hides values keeps nothing of
// them. What the tape has forgotten is in no finding.
func TestRecordsAsTheyCameAreBounded(t *testing.T) {
	one, two := lostUpdate()
	long := strings.Replace(one, "kept", strings.Repeat("é", 20<<10), 1)
	got := onTape(t, engine.Options{}, "", inOneChunk("p", long, two))
	if len(got) != 2 || got[0].Cut < len(long)-16<<10 || got[0].Cut > len(long)-16<<10+1 || got[0].Text != long[:len(long)-got[0].Cut] || strings.ContainsRune(got[0].Text, '\uFFFD') {
		t.Errorf("%d records", len(got))
	}
	if got := onTape(t, engine.Options{}, "secret", inOneChunk("p", one, two)); got != nil {
		t.Errorf("hidden: %d records", len(got))
	}
	rest := make([]string, 0, 2000)
	for i := range cap(rest) {
		rest = append(rest, fmt.Sprintf(`{"txn":"T%d","start":1000000000,"end":2000000000,"status":"committed","ops":[{"op":"w","key":"k%[1]d","value":1}]}`, i))
	}
	for _, c := range []struct {
		tape int64
		want []string
	}{{64 << 10, []string{"B"}}, {1 << 20, []string{"A", "B"}}} {
		var ids []string
		for _, r := range onTape(t, engine.Options{TapeBytes: c.tape}, "", inOneChunk("p", append(append([]string{one}, rest...), two)...)) {
			ids = append(ids, r.Txn)
		}
		if !slices.Equal(ids, c.want) {
			t.Errorf("with %d bytes: %q", c.tape, ids)
		}
	}
}
