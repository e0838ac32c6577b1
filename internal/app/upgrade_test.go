package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/store"
)

// upgraded is the service whose data folders are kept as testdata.
func upgraded(t *testing.T) config.Service {
	s := liveService(t)
	s.Watch.Contract = config.WholeContract()
	s.Sources = []config.Source{{Name: "default", Watch: s.Watch}}
	sink := config.NewSink()   // it has taken the first finding
	sink.Send = config.SendAll // with a dead letter, a finding is not certain
	sink.File = &config.FileSink{Path: filepath.Join(t.TempDir(), "alerts.jsonl")}
	s.Sinks = []config.Sink{sink}
	return s
}

// TestDataFolderOfARelease opens whole data folders that releases left: the store, the stream of the NATS
// server inside with its position, and what a sink was given. The service goes on: what was found is
// there, nothing is read or told twice, and a transaction from before meets one from after.
//
// testdata/data-N.tar.gz is a folder of the snapshot layout N. When the layout gets a new number, write
// the next one with the program of the release before: ISOWATCH_RELEASE=N go test ./internal/app -run DataFolderOfARelease
func TestDataFolderOfARelease(t *testing.T) {
	if n := os.Getenv("ISOWATCH_RELEASE"); n != "" {
		writeDataFolder(t, filepath.Join("testdata", "data-"+n+".tar.gz"))
	}
	folders, err := filepath.Glob("testdata/data-*.tar.gz")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no folders: %v", err)
	}
	for i := range 2 * len(folders) {
		folder, name := folders[i/2], filepath.Base(folders[i/2])
		if i%2 > 0 {
			name += ", as the state of a unit"
		}
		t.Run(name, func(t *testing.T) {
			s := upgraded(t)
			if err := testrun.Unpack(folder, s.Data); err != nil {
				t.Fatal(err)
			}
			if i%2 > 0 {
				restoreAsUnit(t, filepath.Join(s.Data, storeFolder))
			}
			before := storedIn(t, s.Data)
			if len(before) != 1 || before[0] != "G2-item" {
				t.Fatalf("the folder holds %q", before)
			}
			a := start(t, s)
			if got := a.Status().Sources; len(got) != 1 || got[0].Counters.Committed != 3 || a.Status().DeadLetters != 1 {
				t.Errorf("after the start there are %+v", got)
			}
			// U0 and U1 are from before.
			send(t, a, `{"txn":"U2","status":"committed","ops":[{"op":"r","key":"r","found":false},{"op":"w","key":"r","value":3}]}`)
			told := func() string {
				text, _ := os.ReadFile(s.Sinks[0].File.Path) // it is not there yet
				return string(text)
			}
			for deadline := time.Now().Add(20 * time.Second); !strings.Contains(told(), "lost-update") && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			}
			if got := a.Status().Sources[0].Counters.Committed; got != 4 {
				t.Errorf("%d transactions: some were read twice, or are lost", got)
			}
			stop(t, a)
			if got := storedIn(t, s.Data); !slices.Equal(got, []string{"G2-item", "lost-update"}) {
				t.Errorf("findings %q", got)
			}
			if got := told(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "lost-update") {
				t.Errorf("the sink was told %s", got)
			}
			dead := 0
			if err := ReadStored(t.Context(), s.Data, DeadLetters, func([]byte) error { dead++; return nil }); err != nil || dead != 1 {
				t.Errorf("%d dead letters, %v", dead, err)
			}
		})
	}
}

// restoreAsUnit makes the store anew from the copy of it that a group's store would have: a member of this release takes over what
// one of the release before has left.
func restoreAsUnit(t *testing.T, dir string) {
	t.Helper()
	var state bytes.Buffer
	before, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := before.Copy(func() {})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Write(t.Context(), &state), c.Close(), before.Close(), os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	after, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(after.Restore(t.Context(), &state), after.Close()); err != nil {
		t.Fatal(err)
	}
}

func storedIn(t *testing.T, dir string) (anomalies []string) {
	t.Helper()
	err := ReadStored(t.Context(), dir, Findings, func(text []byte) error {
		var f finding.Finding
		err := json.Unmarshal(text, &f)
		if f.Kind == finding.KindViolation {
			anomalies = append(anomalies, f.Anomaly)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return anomalies
}

func writeDataFolder(t *testing.T, file string) {
	t.Helper()
	s := upgraded(t)
	a := start(t, s)
	send(t, a, skewOne, skewTwo, "no record",
		`{"txn":"U1","status":"committed","ops":[{"op":"r","key":"r","found":false},{"op":"w","key":"r","value":2}]}`)
	for deadline := time.Now().Add(20 * time.Second); len(storedIn(t, s.Data)) < 1 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
	}
	time.Sleep(3 * time.Second) // the sink has it
	stop(t, a)
	if err := testrun.Pack(s.Data, file); err != nil {
		t.Fatal(err)
	}
}
