package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestGroupStoreOfARelease: a member goes on from the stores that releases left: records, states with their logs, and findings. Its term is the
// next one, and no state is lost.
//
// testdata/group-N.tar.gz is a store of the form N of records and states. When one of them changes, write the next file with the program of
// the release before: ISOWATCH_RELEASE=N go test ./cmd/monitor -run GroupStoreOfARelease
func TestGroupStoreOfARelease(t *testing.T) {
	t.Parallel()
	if n := os.Getenv("ISOWATCH_RELEASE"); n != "" {
		writeGroupStore(t, filepath.Join("testdata", "group-"+n+".tar.gz"))
	}
	files, err := filepath.Glob("testdata/group-*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stores: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := oneUnit(t)
			folder, _ := url.Parse(r.state.url(nil)) // it was made here
			if err := testrun.Unpack(file, folder.Path); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(r.listFindings(t), "\n"); n != releasedFindings {
				t.Errorf("%d findings are listed, want %d", n, releasedFindings)
			}
			r.start(t, "b")
			m := r.members[0]
			r.await(t, "member that watches the unit", func() bool { return m.logged("watches the unit") > 0 })
			if want := "msg=recovered unit=nats:G:g.0 term=2 sources=1"; m.logged(want) == 0 {
				t.Errorf("the log does not say %q", want)
			}
			for _, bad := range []string{"level=ERROR", "cannot be read"} {
				if m.logged(bad) > 0 {
					t.Errorf("the log says %q", bad)
				}
			}
			r.awaitUnit(t, func(u unitShown) bool { return u.Owner == "b" && u.Sources != nil && *u.Sources == 1 })
			all := r.listFindings(t)
			if n := strings.Count(all, "\n") - strings.Count(all, `"anomaly":"gap"`); n != releasedFindings || strings.Contains(all, "is lost") { // the stream is another one
				t.Errorf("%d findings are listed afterwards, want %d, and no lost state:\n%s", n, releasedFindings, all)
			}
		})
	}
}

// releasedFindings are in the stores.
const releasedFindings = 4

// oneUnit is a run with one unit.
func oneUnit(t *testing.T) *groupRun {
	t.Helper()
	r := newGroupRun(t, nil, natsGroup, "file")
	r.input.text = func(addresses []string) string {
		return strings.Replace(natsSettings(addresses), ", g.1, g.2", "", 1)
	}
	return r
}

func writeGroupStore(t *testing.T, file string) {
	t.Helper()
	r := oneUnit(t)
	r.start(t, "a")
	for _, m := range plantedMessages(t, 3_000, 700) {
		if err := r.input.publish(t.Context(), 0, placed(m, 0)); err != nil {
			t.Fatal(err)
		}
	}
	r.await(t, "findings", func() bool { return len(r.texts()) == releasedFindings })
	time.Sleep(3 * groupLease) // all is delivered
	m := r.members[0]
	m.signal(t, syscall.SIGTERM)
	if err := m.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	folder, _ := url.Parse(r.state.url(nil)) // it was made here
	if err := testrun.Pack(folder.Path, file); err != nil {
		t.Fatal(err)
	}
}
