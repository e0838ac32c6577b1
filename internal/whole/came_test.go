package whole_test

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

	"github.com/klauspost/compress/zstd"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/whole"
)

// rawsOf are the records of the lost update in a file, or in standard input, as they came in.
func rawsOf(t *testing.T, name, text string, w whole.Whole) (all []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if name == "-" {
		path, w.Stdin = name, strings.NewReader(text)
	} else if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if w.Watch.Levels == nil {
		w.Watch = config.DefaultWatch(config.WholeContract())
	}
	w.Raws = 10
	r, err := w.CheckFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Anomaly != "lost-update" || f.Source != event.DefaultSource {
			continue
		}
		lost++
		for _, x := range r.Raws[f.ID] {
			all = append(all, fmt.Sprintf("%s %s %s%s", x.Txn, strings.TrimPrefix(x.Position, "file:"+path+":"), x.Text, x.Bytes))
		}
	}
	if lost != 1 {
		t.Fatalf("%d lost updates in %q: %+v", lost, text, r.Findings)
	}
	slices.Sort(all)
	return all
}

// A finding of a checked file has the records of its transactions byte by byte as they came in: of a file that is packed
// too, and of standard input, where it is kept. Operation-level records are among them one by one. Where values are
// hidden there are none.
func TestRecordsOfFiles(t *testing.T) {
	const record = `{ "ops" :[ {"op":"r","key":"x","value":0},{"value":%d,"key":"x","op":"w"} ],"status":"committed", "note":"caf%s","end":"1970-01-01T00:00:02Z","start":1000000000,"txn":"%s" }`
	one, two := fmt.Sprintf(record, 1, "", "A"), fmt.Sprintf(record, 2, `\u00e9`, `\u0042`)
	seen := `{"txn":"D","status":"committed","ops":[],"note":"\"txn\":\"A\""}`
	zero := `{"txn":"C","status":"committed","end":9,"start":1,"ops":[{"op":"w","key":"x","value":0}]}`
	other := strings.Replace(one, `"txn"`, `"source":"other", "txn"`, 1)
	text := strings.Join([]string{zero, "", one, other, seen, two}, "\n")
	lines := []string{"A 3 " + one, "B 6 " + two}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	enc, _ := zstd.NewWriter(nil)
	piece := func(id, rest string) string { return `{"txn":"` + id + `", ` + rest + `}` }
	pieces := []string{
		zero, piece("A", `"type":"begin", "start":1000`), piece("B", `"type":"begin", "start":1000`),
		piece("A", `"type":"op","index":0,"op":"r","key":"x","value":0`), piece("B", `"type":"op","index":0,"op":"r","key":"x","value":0`),
		piece("A", `"type":"op","index":1,"op":"w","key":"x","value":1`), piece("B", `"type":"op","index":1,"op":"w","key":"x","value":2`),
		piece("A", `"type":"commit","end":2000`), piece("B", `"type":"commit","end":2000`),
	}
	var ofPieces []string
	for i, p := range pieces[1:] {
		ofPieces = append(ofPieces, fmt.Sprintf("%s %d %s", "AB"[i%2:i%2+1], i+2, p))
	}
	slices.Sort(ofPieces)
	var proto []byte
	var ofProto []string
	var b event.Batch
	var d event.Decoder
	for i, text := range []string{one, two} {
		d.Decode(&b, event.Position{}, []byte(text))
		r := b.Record(&b.Txns[i])
		from := len(proto)
		proto = event.AppendProto(proto, &r)
		ofProto = append(ofProto, fmt.Sprintf("%s %d %s", r.ID, i+1, event.RecordIn(proto[from:], 0)))
	}
	edn := []string{
		`{:type :invoke, :process 0, :f :txn, :value [[:r "x" nil] [:w "x" 1]], :index 0}`, `{:type :invoke, :process 1, :f :txn, :value [[:r "x" nil] [:w "x" 2]], :index 1}`,
		`{:type :ok, :process 0, :f :txn,  :value [[:r "x" nil] [:w "x" 1]], :index 2, :note "kept"}`, `{:type :ok, :process 1, :f :txn, :value [[:r "x" nil] [:w "x" 2]], :index 3}`,
	}
	ofEDN := []string{"T0 3 " + edn[0], "T0 3 " + edn[2], "T1 4 " + edn[1], "T1 4 " + edn[3]}
	inOne := slices.Clone(ofEDN)
	for i := range inOne {
		inOne[i] = strings.NewReplacer("T0 3", "T0 1", "T1 4", "T1 1").Replace(inOne[i])
	}
	slices.Sort(ofEDN)
	slices.Sort(inOne)
	bounded := whole.Whole{Watch: config.DefaultWatch(config.WholeContract()), Bounded: true}
	bounded.Watch.Window = config.Window{Duration: time.Hour}
	for name, c := range map[string]struct {
		file, text string
		w          whole.Whole
		want       []string
	}{
		"lines":                        {"a.jsonl", text, whole.Whole{}, lines},
		"lines behind a mark":          {"a.jsonl", "\xef\xbb\xbf" + text, whole.Whole{}, lines},
		"gzip":                         {"a.jsonl.gz", zipped.String(), whole.Whole{}, lines},
		"zstd":                         {"a.jsonl.zst", string(enc.EncodeAll([]byte(text), nil)), whole.Whole{}, lines},
		"a window":                     {"a.jsonl", text, bounded, lines},
		"operations":                   {"a.jsonl", strings.Join(pieces, "\n"), whole.Whole{}, ofPieces},
		"protobuf":                     {"a.pb", string(proto), whole.Whole{}, ofProto},
		"EDN":                          {"a.edn", strings.Join(edn, "\n"), whole.Whole{}, ofEDN},
		"EDN in one line":              {"a.edn", "[" + strings.Join(edn, " ") + "]", whole.Whole{}, inOne},
		"hidden values":                {"a.jsonl", text, whole.Whole{HideKey: "key"}, nil},
		"standard input that is kept":  {"-", text, whole.Whole{}, []string{"A stdin:3 " + one, "B stdin:6 " + two}},
		"standard input that has gone": {"-", text, bounded, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rawsOf(t, c.file, c.text, c.w); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
