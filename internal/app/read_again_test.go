package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/store"
)

// A record that had left the tape is read again from its file where it still stands there. A line of another transaction or
// source, a file that has gone, another input, and values that are hidden are not read.
func TestRecordsAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a:b.jsonl")
	line := func(id, more string) string {
		return fmt.Sprintf(`{ "txn":%q,%s "status":"committed","ops":[]}`, id, more)
	}
	lines := []string{line("A", ""), line("B", ` "source":"s",`), line("C", ` "source":"another",`), line("D", "")}
	text := strings.Join(lines, "\n") // the last line has not ended
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return fmt.Sprintf("file:%s:%d", path, strings.Index(text, lines[i])) }
	f := finding.Finding{
		ID: "1f", Anomaly: "lost-update", Source: "s", Txns: []string{"A", "B", "C", "D", "E", "F", "G", "H"},
		Positions: map[string]string{
			"A": at(0), "B": at(1), "C": at(2), "D": at(3), "E": at(0), "F": "file:" + dir + "/gone:0", "G": "kafka:" + path + "/0:0", "H": "file:" + dir + ":0",
		},
	}
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := newShelved(t, st)
	x.write([]finding.Finding{f})
	got, ok, err := x.shelf.Get("1f")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	var all []string
	for _, r := range got.Raw {
		all = append(all, r.Txn+" "+r.Position+" "+r.Text)
	}
	if want := []string{"A " + at(0) + " " + lines[0], "B " + at(1) + " " + lines[1]}; fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("read\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
	f.Hidden, f.Raw = true, nil
	if readAgain(&f); f.Raw != nil {
		t.Errorf("%+v of hidden values", f.Raw)
	}
	f.Hidden, f.Raw = false, []finding.Raw{{Txn: "A", Position: "p:1"}}
	if readAgain(&f); len(f.Raw) != 2 || f.Raw[0].Position != "p:1" {
		t.Errorf("%+v beside what was kept", f.Raw)
	}
}
