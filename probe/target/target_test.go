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

// What is no endpoint of the database is told before anything is opened.
func TestEndpoints(t *testing.T) {
	const nowhere = "postgres://me@127.0.0.1:1/x"
	for _, c := range []struct{ url, endpoint, want string }{
		{nowhere, "mysql://me:se%20cret@h/", "the endpoint mysql://me:xxxxx@h/ is another kind of database: want postgres://, as the URL of the database"},
		{nowhere, "se cret", `the endpoint "..." is not a URL: want postgres://USER@HOST`},
		{"mysql://me@127.0.0.1:1/", "sqlite:///x.db", "the endpoint sqlite:///x.db is another kind of database: want mysql://"},
		{nowhere, "postgresql://me@h/x", "connection refused"},
		{"mariadb://me@127.0.0.1:1/", "mysql://me@h/", "connection refused"},
		{"sqlite:///none/x.db", "sqlite:///y.db", "only postgres:// and mysql:// have other endpoints"},
	} {
		o := Options{Epoch: "e1", Endpoints: []string{c.endpoint}}
		refused(t, c.url, o, c.want)
		if _, err := Statements(c.url, o); c.want != "connection refused" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("statements: %v, want %q", err, c.want)
		}
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
