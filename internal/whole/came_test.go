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
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
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

// recordsOf is a lost update in a binary format, and its two transactions of so many bytes, which end the file.
func recordsOf(t *testing.T, f history.Format, size int) (text string, came []string) {
	t.Helper()
	var b event.Batch
	var d event.Decoder
	for i := range 2 {
		d.Decode(&b, event.Position{}, fmt.Appendf(nil, `{"txn":"%d","session":"%[1]d","seq":0,"status":"committed","ops":[{"op":"r","key":"1","found":false},{"op":"w","key":"1","value":%[2]d}]}`, i, i+1))
	}
	var out bytes.Buffer
	if err := history.Write(&out, f, []event.Record{b.Record(&b.Txns[0]), b.Record(&b.Txns[1])}); err != nil {
		t.Fatal(err)
	}
	text = out.String()
	one, two := len(text)-2*size-8, len(text)-size // between them stands how many transactions the second session has
	return text, []string{fmt.Sprintf("S1.T1 %d %s", one, text[one:one+size]), fmt.Sprintf("S2.T1 %d %s", two, text[two:])}
}

// The files of a folder are read again for the records, each from its own beginning.
func TestRecordsOfFolders(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"J1.log": `{"value":[["w",1,5,true]]}`, "J2.log": "\n" + `{"value":[["r",1,5,false], ["w",1,6,true]]}`, "J3.log": `{"value":[["r",1,5,false],["w",1,7,true]]}`}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := whole.Whole{Watch: config.DefaultWatch(config.WholeContract()), Raws: 10}
	r, err := w.CheckFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range r.Findings {
		for _, x := range r.Raws[r.Findings[i].ID] {
			got = append(got, strings.TrimPrefix(x.Position, "file:"+dir+"/")+" "+x.Text)
		}
	}
	slices.Sort(got)
	want := []string{"J1.log:1 " + files["J1.log"], "J2.log:2 " + strings.TrimSpace(files["J2.log"]), "J3.log:1 " + files["J3.log"]}
	if !slices.Equal(slices.Compact(got), want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A finding of a checked file has the records of its transactions, and of those who wrote what they read, byte by byte as they
// came in: of a file that is packed
// too, and of standard input, where it is kept. Operation-level records are among them one by one. Where values are
// hidden there are none.
func TestRecordsOfFiles(t *testing.T) {
	const record = `{ "ops" :[ {"op":"r","key":"x","value":0},{"value":%d,"key":"x","op":"w"} ],"status":"committed", "note":"caf%s","end":"1970-01-01T00:00:02Z","start":1000000000,"txn":"%s" }`
	one, two := fmt.Sprintf(record, 1, "", "A"), fmt.Sprintf(record, 2, `\u00e9`, `\u0042`)
	seen := `{"txn":"D","status":"committed","ops":[],"note":"\"txn\":\"A\""}`
	zero := `{"txn":"C","status":"committed","end":9,"start":1,"ops":[{"op":"w","key":"x","value":0}]}`
	other := strings.Replace(one, `"txn"`, `"source":"other", "txn"`, 1)
	text := strings.Join([]string{zero, "", one, other, seen, two}, "\n")
	lines := []string{"A 3 " + one, "B 6 " + two, "C 1 " + zero} // C wrote what the two read
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
	ofPieces = append(ofPieces, "C 1 "+zero)
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
	bincode, ofDBCop := recordsOf(t, history.DBCop, 8+2*18+1)
	bounded := whole.Whole{Watch: config.DefaultWatch(config.WholeContract()), Bounded: true}
	bounded.Watch.Window = config.Window{Duration: time.Hour}
	for name, c := range map[string]struct {
		file, text string
		w          whole.Whole
		want       []string
	}{
		"lines":               {"a.jsonl", text, whole.Whole{}, lines},
		"lines behind a mark": {"a.jsonl", "\xef\xbb\xbf" + text, whole.Whole{}, lines},
		"gzip":                {"a.jsonl.gz", zipped.String(), whole.Whole{}, lines},
		"zstd":                {"a.jsonl.zst", string(enc.EncodeAll([]byte(text), nil)), whole.Whole{}, lines},
		"a window":            {"a.jsonl", text, bounded, lines},
		"operations":          {"a.jsonl", strings.Join(pieces, "\n"), whole.Whole{}, ofPieces},
		"protobuf":            {"a.pb", string(proto), whole.Whole{}, ofProto},
		"EDN":                 {"a.edn", strings.Join(edn, "\n"), whole.Whole{}, ofEDN},
		"EDN in one line":     {"a.edn", "[" + strings.Join(edn, " ") + "]", whole.Whole{}, inOne},
		"polysi": {"a.txt", "r(1,0,1,0)\nw(1,1,1,0)\nr(1,0,2,0)\nw(1,2,2,0)\n", whole.Whole{}, []string{
			"S1.T0 1 r(1,0,1,0)\nw(1,1,1,0)", "S2.T0 3 r(1,0,2,0)\nw(1,2,2,0)",
		}},
		"awdit":                        {"a.txt", "w 1 5\n-\n=\nr 1 5\nw 1 6\n-\n=\nr 1 5\nw 1 7\n-\n", whole.Whole{}, []string{"S1.T1 1 w 1 5", "S2.T1 4 r 1 5\nw 1 6", "S3.T1 8 r 1 5\nw 1 7"}},
		"dbcop":                        {"a.bincode", bincode, whole.Whole{}, ofDBCop},
		"hidden values":                {"a.jsonl", text, whole.Whole{HideKey: "key"}, nil},
		"standard input that is kept":  {"-", text, whole.Whole{}, []string{"A stdin:3 " + one, "B stdin:6 " + two, "C stdin:1 " + zero}},
		"standard input that has gone": {"-", text, bounded, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rawsOf(t, c.file, c.text, c.w); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// A read that missed what had ended before it is called old, also where another order in time is a premise of the proof.
func TestOldReadIsCalledOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	text := `{"txn":"T1","status":"committed","start":100,"end":200,"ops":[{"op":"w","key":"x","value":1}]}
{"txn":"T2","status":"committed","start":300,"end":400,"ops":[{"op":"w","key":"x","value":2}]}
{"txn":"T3","status":"committed","start":500,"end":600,"ops":[{"op":"r","key":"x","value":1}]}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	watch := config.DefaultWatch(config.WholeContract())
	watch.Levels = []isolation.Level{{Base: isolation.Serializable, Family: isolation.Strong}}
	w := whole.Whole{Watch: watch}
	r, err := w.CheckFile(path)
	if err != nil || len(r.Findings) == 0 {
		t.Fatal(r, err)
	}
	if got, want := r.Findings[0].Headline, "T3 read old data: it missed x = 2 of T2, which had ended 100 ns before it began."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
