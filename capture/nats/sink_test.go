package nats

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/event"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
)

// stream is a server with a stream, and a connection to it.
func stream(t *testing.T) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	s, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{
		Dir: t.TempDir(), Port: -1, Stream: "TXNS", Subjects: []string{"txns"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	conn, err := nats.Connect(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return conn, js
}

// stored decodes all that the stream holds.
func stored(t *testing.T, js jetstream.JetStream) (records []event.Record, messages int) {
	t.Helper()
	s, err := js.Stream(t.Context(), "TXNS")
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var d event.Decoder
	var b event.Batch
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq && seq > 0; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		d.DecodeMessage(&b, event.Position{}, m.Data)
		messages++
	}
	for i := range b.Txns {
		records = append(records, b.Record(&b.Txns[i]))
	}
	if len(b.Bad) > 0 {
		t.Errorf("%d bad records, %s", len(b.Bad), b.Bad[0].Reason)
	}
	return records, messages
}

func record(r *capture.Recorder, n int, value string) {
	s := r.Session("s")
	for range n {
		txn := r.Begin(capture.Begin{Session: s})
		txn.Write("k", value)
		txn.End(capture.Committed)
	}
}

// Every record is stored once, several a message, and those that the stream does not
// take are told.
func TestSink(t *testing.T) {
	conn, js := stream(t)
	sink, err := New(conn, "txns")
	if err != nil {
		t.Fatal(err)
	}
	// The stream takes less than the server, and less than one batch.
	s, err := js.Stream(t.Context(), "TXNS")
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	config.MaxMsgSize = 2000
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	r, err := capture.New(sink, "bank", capture.WithPlainValues())
	if err != nil {
		t.Fatal(err)
	}
	record(r, 50, "short")
	record(r, 1, strings.Repeat("long", 1000))
	record(r, 50, "short")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	records, _ := stored(t, js)
	ids := map[string]bool{}
	gaps := 0
	for _, rec := range records {
		ids[rec.ID] = true
		if rec.Name == "capture.gap" {
			gaps++
		}
	}
	if len(ids) != len(records) || len(ids) != 102 || gaps != 2 || r.Stats().TooLong != 1 {
		t.Errorf("%d records of %d ids, %d of a gap; %+v", len(records), len(ids), gaps, r.Stats())
	}
}

// A batch that is written again is stored once.
func TestAgain(t *testing.T) {
	conn, js := stream(t)
	sink, err := New(conn, "txns")
	if err != nil {
		t.Fatal(err)
	}
	lines := [][]byte{[]byte(`{"txn":"a","status":"committed","ops":[]}`), []byte(`{"txn":"b","status":"committed","ops":[]}`)}
	for range 2 {
		if err := sink.Write(t.Context(), lines); err != nil {
			t.Fatal(err)
		}
	}
	if records, messages := stored(t, js); len(records) != 2 || messages != 1 {
		t.Errorf("%d records in %d messages", len(records), messages)
	}
}

// Without a stream for the subject the recorder goes on trying, and says why.
func TestNoStream(t *testing.T) {
	conn, js := stream(t)
	if _, err := New(conn, ""); err == nil {
		t.Error("no subject is taken")
	}
	sink, err := New(conn, "later")
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.New(sink, "bank", capture.WithPlainValues())
	if err != nil {
		t.Fatal(err)
	}
	record(r, 3, "v")
	for deadline := time.Now().Add(time.Minute); r.Err() == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no error is told")
		}
	}
	if err := r.Err(); !strings.Contains(err.Error(), "subject later") {
		t.Errorf("%v", err)
	}
	if _, err := js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: "TXNS", Subjects: []string{"txns", "later"}}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if records, _ := stored(t, js); len(records) != 3 {
		t.Errorf("%d records", len(records))
	}
}
