package tape_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/tape"
)

// A record has at most 16 KiB, and is cut between characters. A finding has at most 64 KiB of records, and a search 4 MiB.
func TestSearchIsBounded(t *testing.T) {
	record := func(id string) []byte {
		return []byte(fmt.Sprintf(`{"txn":%q,"status":"committed","ops":[],"x":"%s"}`, id, strings.Repeat("é", 10<<10)))
	}
	var findings []finding.Finding
	for i := range 100 {
		f := finding.Finding{ID: fmt.Sprint(i), Source: "s"}
		for j := range 8 {
			f.Txns = append(f.Txns, fmt.Sprint(i, "-", j))
		}
		findings = append(findings, f)
	}
	s := tape.NewSearch(findings)
	for i := range findings {
		for _, id := range findings[i].Txns {
			s.Line(record(id), "s", "p:1")
			s.Line(record(id), "another", "p:2")
		}
	}
	all := s.Raws()
	total := 0
	for i := range all {
		size := 0
		for _, r := range all[i] {
			size += r.Size()
			if len(r.Text) > 16<<10 || len(r.Text)+r.Cut != len(record(r.Txn)) || !strings.HasSuffix(r.Text, "é") || r.Position != "p:1" {
				t.Fatalf("%d bytes of %d at %s, %d cut, ends with %q", len(r.Text), len(record(r.Txn)), r.Position, r.Cut, r.Text[len(r.Text)-4:])
			}
		}
		if size > 64<<10 {
			t.Errorf("finding %d has %d bytes", i, size)
		}
		total += size
	}
	if len(all[0]) != 3 || total > 4<<20 || total < 1<<20 || len(all[99]) != 0 {
		t.Errorf("%d records of the first one, %d bytes in all, %d records of the last one", len(all[0]), total, len(all[99]))
	}
}

// A search takes the records of its transactions, however they are written, and no others.
func TestSearchTakesWhatIsAskedFor(t *testing.T) {
	s := tape.NewSearch([]finding.Finding{{Source: "s", Txns: []string{"A"}}})
	for i, line := range []string{
		`{"txn":"A","status":"committed","ops":[]}`, `{ "txn" : "A", "status":"aborted","ops":[]}`, `{"txn":"\u0041","status":"unknown","ops":[]}`,
		`{"t\u0078n":"A","status":"committed","ops":[]}`, `{"note":"txn","txn":"A","status":"committed","ops":[]}`, `{"note":{"txn":"B"},"txn":"A","status":"committed","ops":[]}`,
		`{"txn":"B","status":"committed","ops":[],"note":{"txn":"A"}}`, `{"txn":"A"}`, `nonsense "txn":"A"`, `{"mark":"m","start":1}`, "", `{"source":"r","txn":"A","status":"committed","ops":[]}`,
	} {
		s.Line([]byte(line), "s", fmt.Sprint(i))
	}
	var places []string
	for _, r := range s.Raws()[0] {
		places = append(places, r.Position)
	}
	if got := strings.Join(places, " "); got != "0 1 2 3 4 5" {
		t.Errorf("records %s", got)
	}
	if !tape.NewSearch([]finding.Finding{{Source: "s"}}).Idle() || s.Idle() {
		t.Error("a search without transactions has something to look for, or one with them has not")
	}
}

// Sources may count their transactions alike. Then the tape decodes the records of the finding's source alone.
func TestFindAmongEqualIDs(t *testing.T) {
	taped := tape.Tape{Bytes: 1 << 20}
	for i := range 200 {
		var b event.Batch
		d := event.Decoder{Source: fmt.Sprint("s", i)}
		value := []byte(`{"txn":"A","status":"committed","ops":[]}`)
		d.DecodeMessage(&b, event.Position{Offset: int64(i)}, value)
		taped.Add("p", d.Source, []ingest.Message{{Offset: int64(i), Value: value}}, &b, b.Txns, b.Parts)
	}
	var s *tape.Search
	allocations := testing.AllocsPerRun(3, func() {
		s = tape.NewSearch([]finding.Finding{{Source: "s7", Txns: []string{"A"}}})
		taped.Find(s)
	})
	if raws := s.Raws()[0]; len(raws) != 1 || raws[0].Position != "p:7" || allocations > 100 {
		t.Errorf("%v, with %v allocations", raws, allocations)
	}
}
