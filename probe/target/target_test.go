package target

import (
	"path/filepath"
	"strings"
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

// refused is one sentence that holds the text, and no password.
func refused(t *testing.T, url string, o Options, text string) {
	t.Helper()
	to, err := Open(t.Context(), url, o)
	if err == nil {
		to.Close()
		t.Errorf("%s was opened; want %q", url, text)
		return
	}
	t.Log(err)
	if !strings.Contains(err.Error(), text) || strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "se cret") || strings.Contains(err.Error(), "se%20cret") {
		t.Errorf("got %q, want %q", err, text)
	}
}
