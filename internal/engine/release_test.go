package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// TestReleasesBefore opens data folders that releases before this one left, feeds them the rest of
// their records, and expects the findings of a new folder.
//
// testdata/release-N.tar.gz is a folder whose snapshot has layout N, after the first half of the
// records in testdata/release-N.jsonl.gz. When the layout gets a new number, write the pair of the
// old one with the program of that release: ISOWATCH_RELEASE=N go test ./internal/engine -run Releases
func TestReleasesBefore(t *testing.T) {
	if n := os.Getenv("ISOWATCH_RELEASE"); n != "" {
		writeRelease(t, filepath.Join("testdata", "release-"+n))
	}
	folders, err := filepath.Glob("testdata/release-*.tar.gz")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no folders of releases before: %v", err)
	}
	for _, folder := range folders {
		name := strings.TrimSuffix(folder, ".tar.gz")
		t.Run(filepath.Base(name), func(t *testing.T) {
			ms := messagesOf(t, name+".jsonl.gz")
			was, anew := t.TempDir(), t.TempDir()
			if err := testrun.Unpack(folder, was); err != nil {
				t.Fatal(err)
			}
			live(t, anew, ms, 0, len(ms)/2)
			before := live(t, was, ms, len(ms)/2, len(ms)/2)
			if len(before) == 0 {
				t.Error("the folder holds no finding")
			}
			got, want := live(t, was, ms, len(ms)/2, len(ms)), live(t, anew, ms, len(ms)/2, len(ms))
			if !slices.Equal(got, want) {
				t.Errorf("after the rest of the records:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if len(got) < len(before)+10 {
				t.Errorf("%d findings, %d of them before: the rest shows little", len(got), len(before))
			}
		})
	}
}

// levelsBefore are the levels of release 18: a level that begins with a restart has another order from
// there on.
func levelsBefore() []isolation.Level {
	return slices.DeleteFunc(isolation.AllLevels(), func(l isolation.Level) bool { return l.Underlying().Selects() })
}

// live is a life of the service over the folder, with the records in order, that ends as SIGTERM
// ends it. It returns what is found so far.
func live(t *testing.T, folder string, ms []ingest.Message, from, to int) (found []string) {
	t.Helper()
	st, err := store.Open(folder, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	e, err := engine.Open(st, engine.Options{
		Configure: func(string) window.Config {
			return window.Config{
				Levels: levelsBefore(), Expect: isolation.Level{Base: isolation.Serializable}, KeyCap: 60,
				Window: window.For(20 * time.Millisecond), Lateness: window.For(time.Millisecond), Contract: window.Contract{Complete: true},
			}
		},
		StepBytes: 4096, SnapshotBytes: 1 << 40, Now: func() int64 { return awayEpoch },
	})
	if err != nil {
		t.Fatal(err)
	}
	in := make(chan ingest.Chunk, 1)
	in <- ingest.Chunk{Partition: "p", Cursor: ingest.Cursor{Next: int64(to)}, CaughtUp: true, Messages: slices.Clone(ms[from:to])}
	close(in)
	if err := e.Run(context.Background(), in, to == len(ms)); err != nil {
		t.Fatal(err)
	}
	err = engine.Reader{Store: st}.Each(func(f *finding.Finding) error {
		found = append(found, fmt.Sprintf("%s %s %s %s", f.ID, f.Source, f.Anomaly, strings.Join(f.Txns, " ")))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// releaseRecords are transactions of two sources: registers, some written blindly, and lists.
func releaseRecords(t *testing.T) (records [][]byte) {
	t.Helper()
	var gs []*workload.Generator
	for i, c := range []workload.Config{{Kind: workload.Registers, Source: "registers", Blind: 0.2}, {Kind: workload.Lists, Source: "lists"}} {
		c.Count, c.Keys, c.Sessions, c.PlantEvery, c.Aborted, c.Unknown, c.Start = 1500, 200, 8, 60, 0.05, 0.05, awayEpoch
		g, err := workload.NewGenerator(c, rand.New(rand.NewPCG(18, uint64(i))))
		if err != nil {
			t.Fatal(err)
		}
		gs = append(gs, g)
	}
	for n := 0; ; n++ {
		txn, ok := gs[n%2].Next()
		if !ok {
			return records
		}
		records = append(records, workload.AppendJSON(nil, &txn))
	}
}

func writeRelease(t *testing.T, name string) {
	t.Helper()
	var lines bytes.Buffer
	z := gzip.NewWriter(&lines)
	for _, record := range releaseRecords(t) {
		fmt.Fprintf(z, "%s\n", record)
	}
	if err := errors.Join(z.Close(), os.WriteFile(name+".jsonl.gz", lines.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	ms, folder := messagesOf(t, name+".jsonl.gz"), t.TempDir()
	live(t, folder, ms, 0, len(ms)/2)
	if err := testrun.Pack(folder, name+".tar.gz"); err != nil {
		t.Fatal(err)
	}
}

func messagesOf(t *testing.T, file string) (ms []ingest.Message) {
	t.Helper()
	for i, line := range bytes.Split(bytes.TrimSpace(unzipped(t, file)), []byte("\n")) {
		ms = append(ms, ingest.Message{Offset: int64(i), Value: line})
	}
	return ms
}

func unzipped(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
