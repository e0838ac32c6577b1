package app

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/config"
)

// A replay's finding has the records of its transactions as they came in: of files, packed or not, by the byte at which
// their lines begin, of the history of another checker, and of a broker, while they are among its latest. Where values
// are hidden, and where nobody asks for them, there are none.
func TestReplayedRecords(t *testing.T) {
	lines := skewApart()
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "}") + ` , "note":"caf\u00e9" }`
	}
	text := strings.Join(lines, "\n")
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	file := func(name, text string) config.Replay {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return replayOf(path)
	}
	stream := func() config.Replay {
		url, js := natsStream(t)
		publish(t, js, "s.a", lines...)
		c := replayOf()
		c.NATS = &config.NATS{URLs: []string{url}, Stream: "S"}
		return c
	}
	hidden := file("a.jsonl", text)
	hidden.Watch.ShowValues = false
	places := map[int]string{}
	at := 0
	for i, line := range lines {
		places[i] = fmt.Sprint(at)
		at += len(line) + 1
	}
	edn := []string{
		`{:type :invoke, :process 0, :f :txn, :value [[:r "x" nil] [:append "y" 1]], :index 0}`, `{:type :invoke, :process 1, :f :txn, :value [[:r "y" nil] [:append "x" 2]], :index 1}`,
		`{:type :ok, :process 0, :f :txn, :value [[:r "x" nil] [:append "y" 1]], :index 2}`, `{:type :ok, :process 1, :f :txn, :value [[:r "y" nil] [:append "x" 2]], :index 3}`,
	}
	for name, c := range map[string]struct {
		c     config.Replay
		raws  int
		lines []string
		place func(i int) string
	}{
		"a file":         {file("a.jsonl", text), 10, lines, func(i int) string { return places[i] }},
		"a packed file":  {file("a.jsonl.gz", zipped.String()), 10, lines, func(i int) string { return places[i] }},
		"EDN":            {file("a.edn", strings.Join(edn, "\n")), 10, edn, func(i int) string { return fmt.Sprint(i%2 + 3) }},
		"a stream":       {stream(), 10, lines, func(i int) string { return fmt.Sprint(i + 1) }},
		"hidden values":  {hidden, 10, nil, nil},
		"asked for none": {file("a.jsonl", text), 0, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := Replay{Config: c.c, Patience: time.Second, Raws: c.raws}
			got, err := r.Run(t.Context())
			if err != nil || len(got.Findings) != 1 {
				t.Fatal(got, err)
			}
			var texts, want []string
			for _, x := range got.Raws[got.Findings[0].ID] {
				sep := strings.LastIndexAny(x.Position, ":/")
				texts = append(texts, x.Position[sep+1:]+" "+x.Text)
			}
			for i, line := range c.lines {
				if strings.Contains(line, `"N1"`) || strings.Contains(line, `"W1"`) {
					continue // it takes no part
				}
				want = append(want, c.place(i)+" "+line)
			}
			slices.Sort(texts)
			slices.Sort(want)
			if !slices.Equal(texts, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(texts, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}
