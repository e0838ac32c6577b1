package target

import (
	"path/filepath"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

func TestSQLite(t *testing.T) {
	to, err := Open(t.Context(), "sqlite:///"+filepath.Join(t.TempDir(), "x.db"), Options{Epoch: "e1"})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if to.Expect() != "sqlite/serializable" || to.Version == "" {
		t.Errorf("%+v", to)
	}
	w, err := probe.ByName("mix")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := probe.Fill(t.Context(), to, w, probe.Options{}); err != nil || r.Status != event.Committed {
		t.Error(r, err)
	}
}
