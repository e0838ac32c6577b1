package whole

import (
	"cmp"
	"os"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/ingest/tail/lines"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/tape"
)

// came are the records of the findings that a report shows, as they came in, by the finding's id. For that the recording is read once
// more. There are none where it cannot be, and where values are hidden: these records are nothing but values.
func (w *Whole) came(in *Recording, h *Checking, r *Report) map[string][]finding.Raw {
	shown := catalog.ExamplesOf(r.Findings, w.Raws)
	s := tape.NewSearch(shown)
	if w.HideKey != "" || s.Idle() {
		return nil
	}
	w.doing(h.Name, ReadingAgain)
	if in.Search(s, &h.Decoder, w.partition(h.Name)) != nil {
		return nil // it is standard input, or has gone: records are shown as they were decoded
	}
	return ByFinding(s, shown)
}

// ByFinding are the records that were found, by the ids of the findings that were looked for.
func ByFinding(s *tape.Search, findings []finding.Finding) map[string][]finding.Raw {
	all := map[string][]finding.Raw{}
	for i, list := range s.Raws() {
		if len(list) > 0 {
			all[findings[i].ID] = list
		}
	}
	return all
}

// Search reads the recording from its beginning and gives the search its records.
func (r *Recording) Search(s *tape.Search, d *event.Decoder, partition string) error {
	if err := r.rewind(); err != nil {
		return err
	}
	b := event.Batch{Partitions: []string{partition}}
	if r.Format == history.JSONL || r.Format == history.Proto {
		return eachMessage(r.file, true, func(m ingest.Message) error {
			s.Line(m.Value, d.Source, b.Where(event.Position{Offset: m.Offset}))
			return nil
		})
	}
	reader := history.Reader{Batch: &b, Decoder: &event.Decoder{Source: d.Source}, Size: r.Size}
	reader.Flush = func() error {
		partitions := b.Partitions
		b.Reset()
		b.Partitions = partitions
		return nil
	}
	binary := r.Format == history.DBCop || r.Format == history.Cobra
	reader.Came = func(id string, pos event.Position, records [][]byte) {
		for _, text := range records {
			s.Take(cmp.Or(d.Source, event.DefaultSource), id, b.Where(pos), text, binary)
		}
	}
	if r.dir != nil {
		return reader.ReadDir(r.Format, r.dir)
	}
	return reader.Read(r.Format, r.file)
}

// SearchFile gives the search the records of a file of records, packed or not, whose positions are bytes.
func SearchFile(s *tape.Search, path, byDefault string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, _, err := lines.Unpack(f)
	if err != nil {
		return err
	}
	b := event.Batch{Partitions: []string{PartitionOf(path)}}
	return eachMessage(text, false, func(m ingest.Message) error {
		s.Line(m.Value, byDefault, b.Where(event.Position{Offset: m.Offset}))
		return nil
	})
}
