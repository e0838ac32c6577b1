//go:build integration

package live

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
)

// streams are the records of all cells on their way to the publisher.
type streams struct {
	publisher *publisher

	mu    sync.Mutex
	files map[string]*file // by source; nil: it is not kept
	ends  map[string]int64 // of transactions, by source and id, ns since the Unix epoch
	// replaced are the committed transactions that read a value and wrote another, by
	// source, key and value.
	replaced map[string]map[[2]string][]string
	// wrote has the values that a source's committed transactions wrote, by key and value, and
	// repeated when the first that wrote one again had ended, ns since the Unix epoch.
	wrote    map[string]map[[2]string]bool
	repeated map[string]int64
}

// file is a source's records.
type file struct {
	to *os.File
	w  *bufio.Writer
}

// createFile makes the file of a source, nil where none are kept.
func createFile(t *testing.T, source string) *file {
	t.Helper()
	folder := os.Getenv(folderEnv)
	if folder == "" {
		return nil
	}
	f, err := os.Create(filepath.Join(folder, source+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return &file{f, bufio.NewWriter(f)}
}

func (f *file) keep(r event.Record) {
	if f != nil {
		r.Source = event.DefaultSource
		f.w.Write(append(event.AppendJSON(nil, &r), '\n')) // Flush tells
	}
}

func (f *file) close(t *testing.T) {
	t.Helper()
	if f == nil {
		return
	}
	if err := f.w.Flush(); err != nil {
		t.Error(err)
	}
	if err := f.to.Close(); err != nil {
		t.Error(err)
	}
}

func newStreams(t *testing.T, p *publisher) *streams {
	t.Helper()
	s := &streams{publisher: p, files: map[string]*file{}, ends: map[string]int64{},
		replaced: map[string]map[[2]string][]string{}, wrote: map[string]map[[2]string]bool{}, repeated: map[string]int64{}}
	for _, c := range cells() {
		s.wrote[c.source()] = map[[2]string]bool{}
		s.replaced[c.source()] = map[[2]string][]string{}
		s.files[c.source()] = createFile(t, c.source())
	}
	return s
}

// emit publishes a record of the cell, under each of its names.
func (s *streams) emit(c cell, r event.Record) {
	s.keep(c, r)
	for _, name := range []string{c.source(), c.strongerSource()} {
		if name != "" {
			r.Source = name
			s.publisher.publish(name, event.AppendJSON(nil, &r))
		}
	}
}

func (s *streams) keep(c cell, r event.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends[c.source()+" "+r.ID] = r.End
	s.noteReplaced(c, &r)
	s.noteWritten(c, &r)
	s.files[c.source()].keep(r)
}

func (s *streams) noteReplaced(c cell, r *event.Record) {
	if r.Status != event.Committed {
		return
	}
	read := map[string]string{}
	for _, o := range r.Ops {
		switch o.Kind {
		case event.Read:
			read[o.Key] = o.Value
		case event.Write:
			if value, ok := read[o.Key]; ok {
				at := [2]string{o.Key, value}
				s.replaced[c.source()][at] = append(s.replaced[c.source()][at], r.ID)
			}
		}
	}
}

func (s *streams) noteWritten(c cell, r *event.Record) {
	if r.Status != event.Committed {
		return
	}
	for _, o := range r.Ops {
		at := [2]string{o.Key, o.Value}
		if o.Kind == event.Write && s.wrote[c.source()][at] && s.repeated[c.source()] == 0 {
			s.repeated[c.source()] = r.End
		}
		s.wrote[c.source()][at] = s.wrote[c.source()][at] || o.Kind == event.Write
	}
}

// repetition is when the cell had first written a value of a key again, ns since the Unix epoch; 0: never.
func (s *streams) repetition(c cell) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repeated[c.source()]
}

// lostUpdates are the transactions that replaced one value, of the values that two or more had
// replaced who had ended by then. Those that ended later are named too: of three that replaced a
// value the first whose record comes is told with each of the others.
func (s *streams) lostUpdates(c cell, by time.Time) [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost [][]string
	for _, txns := range s.replaced[c.source()] {
		ended := 0
		for _, id := range txns {
			if s.ends[c.source()+" "+id] <= by.UnixNano() {
				ended++
			}
		}
		if ended > 1 {
			lost = append(lost, slices.Clone(txns))
		}
	}
	return lost
}

// finish completes the files.
func (s *streams) finish(t *testing.T) {
	t.Helper()
	for _, f := range s.files {
		f.close(t)
	}
}

// end is when the latest of the transactions had ended, ns since the Unix epoch.
func (s *streams) end(c cell, txns []string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var latest int64
	for _, id := range txns {
		latest = max(latest, s.ends[c.source()+" "+id])
	}
	return latest
}
