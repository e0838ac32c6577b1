package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/store"
)

// A record that had left the tape is read again from its file where it still stands there. A line of another transaction or
// source, a file that has gone, another input, and values that are hidden are not read.
func TestRecordsAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a:b.jsonl")
	line := func(id, more string) string {
		return fmt.Sprintf(`{ "txn":%q,%s "status":"committed","ops":[]}`, id, more)
	}
	lines := []string{line("A", ""), line("B", ` "source":"s",`), line("C", ` "source":"another",`), line("D", "")}
	text := strings.Join(lines, "\n") // the last line has not ended
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return fmt.Sprintf("file:%s:%d", path, strings.Index(text, lines[i])) }
	f := finding.Finding{
		ID: "1f", Anomaly: "lost-update", Source: "s", Txns: []string{"A", "B", "C", "D", "E", "F", "G", "H"},
		Positions: map[string]string{
			"A": at(0), "B": at(1), "C": at(2), "D": at(3), "E": at(0), "F": "file:" + dir + "/gone:0", "G": "kafka:" + path + "/0:0", "H": "file:" + dir + ":0",
		},
	}
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := newShelved(t, st)
	x.write([]finding.Finding{f})
	got, ok, err := x.shelf.Get("1f")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	var all []string
	for _, r := range got.Raw {
		all = append(all, r.Txn+" "+r.Position+" "+r.Text)
	}
	if want := []string{"A " + at(0) + " " + lines[0], "B " + at(1) + " " + lines[1]}; fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("read\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
	f.Hidden, f.Raw = true, nil
	if x.shelf.asks.readAgain(&f); f.Raw != nil {
		t.Errorf("%+v of hidden values", f.Raw)
	}
	f.Hidden, f.Raw = false, []finding.Raw{{Txn: "A", Position: "p:1"}}
	if x.shelf.asks.readAgain(&f); len(f.Raw) != 2 || f.Raw[0].Position != "p:1" {
		t.Errorf("%+v beside what was kept", f.Raw)
	}
}

// Of two records of one transaction both are read again, each from its position.
func TestBothRecordsAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.jsonl")
	one, two := `{"txn":"A", "status":"committed","ops":[]}`, `{"txn":"A", "status":"aborted","ops":[]}`
	if err := os.WriteFile(path, []byte(one+"\n"+two+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := fmt.Sprintf("file:%s:0", path), fmt.Sprintf("file:%s:%d", path, len(one)+1)
	for _, had := range [][]finding.Raw{nil, {{Txn: "A", Position: second, Text: two}}} {
		f := finding.Finding{
			Source: "s", Txns: []string{"A"}, Raw: had,
			Positions: map[string]string{"A": first}, Grounds: finding.Grounds{SecondPositions: map[string]string{"A": second}},
		}
		(&asksAgain{}).readAgain(&f)
		got := map[string]string{}
		for _, r := range f.Raw {
			got[r.Position] = r.Text
		}
		if len(f.Raw) != 2 || got[first] != one || got[second] != two {
			t.Errorf("%+v", f.Raw)
		}
	}
}

// broker has messages, and answers as late as the test says.
type broker struct {
	messages map[string]string // by partition/offset
	late     time.Duration
	asked    int
}

// Run implements [ingest.Source].
func (*broker) Run(context.Context, map[string]ingest.Cursor, chan<- ingest.Chunk) error { return nil }

// Reread implements [ingest.Rereader].
func (b *broker) Reread(ctx context.Context, partition string, offset int64) ([]byte, error) {
	b.asked++
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(b.late):
	}
	if text, ok := b.messages[fmt.Sprint(partition, "/", offset)]; ok {
		return []byte(text), nil
	}
	return nil, ingest.ErrNotHere
}

// Records of brokers are asked for by position. The second input is asked where the first has none. A message with several records
// gives that of the finding, and one with another record or beyond the bound gives none. A broker that does not answer costs two seconds once.
func TestRecordsOfBrokersAreReadAgain(t *testing.T) {
	t.Parallel()
	record := func(id, more string) string {
		return fmt.Sprintf(`{ "txn":%q,%s "status":"committed","ops":[]}`, id, more)
	}
	long := record("D", fmt.Sprintf(` "labels":{"x":%q},`, strings.Repeat("x", longAgain)))
	first := &broker{messages: map[string]string{"nats:S/7": record("A", ""), "nats:S/8": record("X", ""), "nats:S/9": long}}
	second := &broker{messages: map[string]string{"kafka:T/0/12": record("Z", "") + "\n" + record("B", "")}}
	discard := slog.New(slog.DiscardHandler)
	a := asksAgain{inputs: func() []*input {
		return []*input{{source: first, of: "s", log: discard}, {source: second, of: "s", log: discard}}
	}}
	made := func() finding.Finding {
		return finding.Finding{
			ID: "1f", Anomaly: "lost-update", Source: "s", Txns: []string{"A", "B", "C", "D", "E"},
			Positions: map[string]string{"A": "nats:S/7", "B": "kafka:T/0/12", "C": "nats:S/8", "D": "nats:S/9", "E": "kafka:T/0/13"},
		}
	}
	f := made()
	a.readAgain(&f)
	var all []string
	for _, r := range f.Raw {
		all = append(all, r.Txn+" "+r.Position+" "+r.Text)
	}
	if want := []string{"A nats:S/7 " + record("A", ""), "B kafka:T/0/12 " + record("B", "")}; !slices.Equal(all, want) {
		t.Errorf("read\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}

	first.late, second.late = time.Hour, time.Hour
	first.asked, second.asked = 0, 0
	for range 3 {
		began := time.Now()
		f := made()
		if a.readAgain(&f); f.Raw != nil || time.Since(began) > 2*waitAgain+5*time.Second {
			t.Errorf("%+v after %v", f.Raw, time.Since(began))
		}
	}
	if n := first.asked + second.asked; n != 1 {
		t.Errorf("brokers that do not answer were asked %d times", n)
	}
}
