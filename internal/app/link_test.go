package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
)

// Sinks of the configuration get the address of a finding's page; the caller's get it where it is
// configured, since the address of this process may be another one at the next start.
func TestPageURLs(t *testing.T) {
	for _, external := range []string{"", "https://watch.example/db"} {
		t.Run(external, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sink.jsonl")
			s := liveService(t)
			s.HTTP.ExternalURL = external
			s.Sinks = []config.Sink{fileSink(path, "file")}
			sink := make(caught, 10)
			a := start(t, s, sink)
			send(t, a, skewOne, skewTwo)
			own := (<-sink).Finding
			var text []byte
			eventually(t, "delivery", func() bool {
				text, _ = os.ReadFile(path) // none yet: empty
				return strings.HasSuffix(string(text), "\n")
			})
			var f finding.Finding
			if err := json.Unmarshal(text, &f); err != nil {
				t.Fatal(err)
			}
			want, wantOwn := "http://"+a.HTTPAddr()+"/findings/"+f.ID, ""
			if external != "" {
				want = external + "/findings/" + f.ID
				wantOwn = want
			}
			if f.PageURL != want || own.PageURL != wantOwn {
				t.Errorf("file %q, want %q; the caller's %q, want %q", f.PageURL, want, own.PageURL, wantOwn)
			}
			if body := get(t, a, "/api/v1/findings/"+f.ID); !strings.Contains(body, `"page_url":"`+want+`"`) {
				t.Errorf("the API does not say %s: %s", want, body)
			}
		})
	}
}
