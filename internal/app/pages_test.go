package app

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/config"
)

// Pages that are open to everybody on the machine answer no other name than the
// machine's; behind a password the name does not matter.
func TestHostOfPages(t *testing.T) {
	t.Setenv("TEST_TOKEN", "tok")
	for _, c := range []struct {
		name, host, external string
		guarded              bool
		want                 int
	}{
		{"an address", "127.0.0.1", "", false, http.StatusOK},
		{"a name that was made to point here", "rebound.example.com", "", false, http.StatusMisdirectedRequest},
		{"the name of a proxy before us", "watch.example.com", "https://Watch.example.com/isowatch", false, http.StatusOK},
		{"any name, with a token", "any.example.com", "", true, http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := liveService(t)
			s.HTTP.ExternalURL = c.external
			if c.guarded {
				s.HTTP.Token = config.Secret{Env: "TEST_TOKEN"}
			}
			a := start(t, s, make(caught, 1))
			request, err := http.NewRequest(http.MethodGet, "http://"+a.HTTPAddr()+"/api/v1/findings", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = c.host
			request.Header.Set("Authorization", "Bearer tok")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != c.want {
				t.Errorf("%s, want %d", response.Status, c.want)
			}
		})
	}
}

// Pages are renewed when what they show changes, and not by a step without input.
func TestChanges(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	a := watching(t, dir, func() time.Time { return at })
	defer a.Stop(context.Background())
	waitFor(t, "a step", func() bool { return a.Status().Steps > 0 })
	before, steps := a.changes(), a.Status().Steps
	waitFor(t, "another step", func() bool { return a.Status().Steps > steps })
	if after := a.changes(); after != before {
		t.Error("a step without input renews the pages")
	}
	line := `{"txn":"T1","status":"committed","start":1,"end":2,"ops":[]}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "log.jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the record", func() bool { s := a.Status().Sources; return len(s) == 1 && s[0].Counters.Committed == 1 })
	if a.changes() == before {
		t.Error("a record does not renew the pages")
	}
}
