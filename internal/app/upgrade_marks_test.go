package app

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/testrun"
)

// silencedFor is how long the folders' silence holds: 200 years.
const silencedFor = int64(200 * 365 * 24 * time.Hour)

// TestMarksOfARelease opens folders with what people said of a group, and with findings that may still grow. The
// service goes on: the marks are there, and the findings are neither told anew nor lost.
//
// testdata/marks-N.tar.gz is a folder of the snapshot layout N, from a program with marks. The next one is written as that of
// TestDataFolderOfARelease: ISOWATCH_RELEASE=N go test ./internal/app -run MarksOfARelease
func TestMarksOfARelease(t *testing.T) {
	if n := os.Getenv("ISOWATCH_RELEASE"); n != "" {
		writeMarkedFolder(t, filepath.Join("testdata", "marks-"+n+".tar.gz"))
	}
	folders, err := filepath.Glob("testdata/marks-*.tar.gz")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no folders: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			s := upgraded(t)
			if err := testrun.Unpack(folder, s.Data); err != nil {
				t.Fatal(err)
			}
			before := statesIn(t, s.Data)
			if open := slices.Collect(maps.Values(before)); !slices.Equal(open, []finding.State{finding.Provisional, finding.Provisional}) {
				t.Fatalf("the folder holds %v, want two provisional findings", before)
			}
			a := start(t, s)
			marks := 0
			for _, f := range findingsIn(t, a) {
				m := a.shelf.Marks(groupKey(&f))
				if f.Anomaly == "G2-item" && (m.Acknowledged == nil || m.Acknowledged.Who != "ann" || m.Acknowledged.Why != "ticket 17" || !m.Silenced.Holds(a.now()) || m.Silenced.Who != "bob") {
					t.Errorf("of its group is said %+v", m)
				}
				if m != (catalog.Marks{}) {
					marks++
				}
			}
			if marks != 1 {
				t.Errorf("%d of the findings are marked", marks)
			}
			send(t, a, `{"txn":"L","status":"committed","ops":[]}`)
			waitFor(t, "the next record", func() bool { return a.Status().Sources[0].Counters.Committed == 4 })
			stop(t, a)
			if after := statesIn(t, s.Data); !maps.Equal(before, after) {
				t.Errorf("the folder holds %v, and held %v", after, before)
			}
		})
	}
}

func groupKey(f *finding.Finding) string {
	g := catalog.GroupOf(f)
	return g.Key()
}

func statesIn(t *testing.T, dir string) map[string]finding.State {
	t.Helper()
	states := map[string]finding.State{}
	if err := ReadStored(t.Context(), dir, Findings, func(text []byte) error {
		var f finding.Finding
		err := json.Unmarshal(text, &f)
		states[f.ID+" "+f.Anomaly+" "+strconv.Itoa(f.Revision)] = f.State
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return states
}

func findingsIn(t *testing.T, a *App) (all []finding.Finding) {
	t.Helper()
	if err := json.Unmarshal([]byte(get(t, a, "/api/v1/findings")), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func writeMarkedFolder(t *testing.T, file string) {
	t.Helper()
	s := upgraded(t)
	a := start(t, s)
	send(t, a, skewOne, skewTwo, `{"txn":"N","status":"committed","ops":[{"op":"w","key":"k","value":2},{"op":"r","key":"k","value":1}]}`)
	waitFor(t, "two findings", func() bool { return len(findingsIn(t, a)) == 2 })
	for _, f := range findingsIn(t, a) {
		if f.Anomaly != "G2-item" {
			continue
		}
		if _, err := a.shelf.Mark(groupKey(&f), func(m *catalog.Marks) {
			m.Acknowledged = &catalog.Mark{Who: "ann", Why: "ticket 17", At: a.now()}
			m.Silenced = &catalog.Mark{Who: "bob", Why: "until the release", At: a.now(), Until: a.now() + silencedFor}
		}); err != nil {
			t.Fatal(err)
		}
	}
	stop(t, a)
	if err := testrun.Pack(s.Data, file); err != nil {
		t.Fatal(err)
	}
}
