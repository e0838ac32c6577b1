package isowatch_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/web"
)

// screenshot is the README's picture of a page: make screenshot takes it.
const screenshot = "docs/alert.png"

// oneFinding is a store of one.
type oneFinding struct{ finding.Finding }

func (o oneFinding) List(web.Query) (page []finding.Finding, next string, err error) {
	return []finding.Finding{o.Finding}, "", nil
}

func (o oneFinding) Get(id string) (f finding.Finding, ok bool, err error) {
	return o.Finding, id == o.ID, nil
}

// examplePages are the pages of a monitor that has found the violation in docs/alert.jsonl, and the
// path of the one that the README shows.
func examplePages(t *testing.T) (pages http.Handler, path string) {
	f := exampleFinding(t)
	return web.Handler(web.Options{
		Findings: oneFinding{f}, Gatherer: prometheus.NewRegistry(),
		Ready:  func() error { return nil },
		Status: func() any { return nil },
		Now:    func() time.Time { return time.Date(2026, 3, 2, 9, 4, 0, 0, time.UTC) }, // the page gives ages
		Facts: func() []web.Fact {
			return []web.Fact{{Name: "expected", Value: "serializable"}, {Name: "verdict", Value: "violated"}, {Name: "transactions", Value: "3"}}
		},
	}), "/findings/" + f.ID
}

// shown is a hash of what a browser gets to show.
func shown(t *testing.T) string {
	pages, path := examplePages(t)
	h := sha256.New()
	for _, target := range []string{path, "/style.css"} {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: status %d", target, w.Code)
		}
		h.Write(w.Body.Bytes())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A screenshot names the page that it shows: a text chunk of the PNG, behind its header, has the hash.
const (
	headerEnd  = 8 + 4 + 4 + 13 + 4 // signature, and the chunk IHDR
	shownTitle = "Source\x00"
)

// label returns what the chunk says.
func label(image []byte) string {
	const start = headerEnd + 8 + len(shownTitle)
	if len(image) < start+2*sha256.Size || string(image[headerEnd+8:start]) != shownTitle {
		return ""
	}
	return string(image[start : start+2*sha256.Size])
}

// sound says what is wrong with a screenshot, but for what it shows.
func sound(image []byte) error {
	c, err := png.DecodeConfig(bytes.NewReader(image))
	if err != nil {
		return err
	}
	if c.Width != 1200 || len(image) > 150<<10 {
		return fmt.Errorf("%d px wide and %d bytes: want 1200 px, at most 150 KiB", c.Width, len(image))
	}
	return nil
}

// TestScreenshot: the README's picture shows the page as it is today.
func TestScreenshot(t *testing.T) {
	image, err := os.ReadFile(screenshot)
	if err != nil {
		t.Fatal(err)
	}
	if err := sound(image); err != nil {
		t.Errorf("%s: %v", screenshot, err)
	}
	if label(image) != shown(t) {
		t.Errorf("%s shows another page than the monitor serves today: make screenshot takes it again", screenshot)
	}
}
