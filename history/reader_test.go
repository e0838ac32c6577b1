package history

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/isowatch/isowatch/event"
)

// readAll reads the history and flushes after every transaction that fills the
// batch, as the command does.
func readAll(t *testing.T, f Format, data []byte) ([]event.Record, error) {
	t.Helper()
	var out []event.Record
	b := &event.Batch{Partitions: []string{"file:x"}}
	keep := func() error {
		out = append(out, recordsOf(t, b)...)
		names := b.Partitions
		b.Reset()
		b.Partitions = names
		return nil
	}
	r := Reader{Batch: b, Flush: keep}
	err := r.Read(f, strings.NewReader(string(data)))
	if e := keep(); e != nil {
		t.Fatal(e)
	}
	return out, err
}

// recordsOf are the transactions of b; their hashes must be those of the decoder.
func recordsOf(t *testing.T, b *event.Batch) []event.Record {
	t.Helper()
	var out []event.Record
	for i := range b.Txns {
		rec := b.Record(&b.Txns[i])
		out = append(out, rec)
		var d event.Decoder
		var again event.Batch
		d.Decode(&again, event.Position{}, event.AppendJSON(nil, &rec))
		if len(again.Txns) != 1 {
			t.Fatalf("%s is no record: %s", event.AppendJSON(nil, &rec), again.Bad[0].Reason)
		}
		if x, y := event.ContentHash(b, &b.Txns[i]), event.ContentHash(&again, &again.Txns[0]); x != y {
			t.Fatalf("%s has the content hash %x, decoded %x", event.AppendJSON(nil, &rec), x, y)
		}
	}
	return out
}

// short writes what is read in the form of the tests below.
func short(recs []event.Record) string {
	var text strings.Builder
	for _, r := range recs {
		fmt.Fprintf(&text, "%s session=%s seq=%d %s", r.ID, r.Session, r.Seq, r.Status)
		if r.Isolation != "" {
			fmt.Fprintf(&text, " %s", r.Isolation)
		}
		for _, o := range r.Ops {
			fmt.Fprintf(&text, " %s(%s", o.Kind, o.Key)
			if o.Flags&event.NotFound == 0 {
				fmt.Fprintf(&text, " %s", o.Value)
			}
			text.WriteString(")")
		}
		text.WriteString("\n")
	}
	return text.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		format Format
		text   string
		want   string
	}{
		{"sessions are interleaved", PolySI, "w(0,1,1,7)\nr(1,0,1,7)\nw(0,2,1,8)\nr(0,1,2,8)\nw(1,-5,2,3)\n", `
S1.T7 session=1 seq=0 committed w(0 1) r(1)
S2.T8 session=2 seq=0 committed r(0 1)
S1.T8 session=1 seq=1 committed w(0 2)
S2.T3 session=2 seq=1 committed w(1 -5)`},
		{"order of the file, operations of a transaction apart", PolySI, "w(0,1,1,1)\nw(0,2,2,2)\nw(1,3,1,1)\nw(1,4,2,2)\n\nw(5,6,1,3)\r\n", `
S1.T1 session=1 seq=0 committed w(0 1) w(1 3)
S2.T2 session=2 seq=0 committed w(0 2) w(1 4)
S1.T3 session=1 seq=1 committed w(5 6)`},
		{"aborted writes and levels", PolySI, "w(0,1,1,-1)\nw(0,2,1,-1)\nr(0,3,2,1,RA)\nw(0,3,1,4,SER)\n", `
S1.T-1@1 session=1 seq=0 aborted w(0 1)
S1.T-1@2 session=1 seq=1 aborted w(0 2)
S2.T1 session=2 seq=0 committed strong-session-read-atomic r(0 3)
S1.T4 session=1 seq=2 committed strong-session-serializable w(0 3)`},
		{"zeros that set up", PolySI, "w(0,0,0,0)\nw(1,0,0,0)\nr(1,0,1,1)\nw(1,2,1,1)\n", `
S0.T0 session=0 seq=0 committed
S1.T1 session=1 seq=0 committed r(1) w(1 2)`},
		{"a zero that is written like other values", PolySI, "w(1,2,0,0)\nw(1,0,0,1)\nr(1,0,1,1)\nr(2,0,1,1)\n", `
initial session= seq=0 committed w(1 0)
S0.T0 session=0 seq=0 committed w(1 2)
S1.T1 session=1 seq=0 committed r(1 0) r(2)
S0.T1 session=0 seq=1 committed w(1 0)`},
		{"awdit", AWDIT, "w 0 0\nw 1 7\n=====\n\nr 0 0\n---\nw 0 1\n---\n===\nr 0 1", `
S1.T1 session=1 seq=0 committed w(0 0) w(1 7)
S2.T1 session=2 seq=0 committed r(0 0)
S3.T1 session=3 seq=0 committed r(0 1)
S2.T2 session=2 seq=1 committed w(0 1)`},
		{"viper", Viper, `{"value": [["w", 1, -5, true], ["r", 2, 9, false], ["d", 3, 4, 7], ["i",4,5]]}
{"value":[["r",1,"nil",false],["r",2,null],["range",1,"nil",[{"id":3,"val":4},{"id":4,"val":5,"sk":4}],[{"id":1,"val":-5}]],["r",6,1]]}`, `
S0.T1 session=0 seq=0 committed w(1 -5) r(2) w(3 4) w(4 5)
S0.T2 session=0 seq=1 committed r(1) r(2) r(3 4) r(4 5) r(1 -5) r(2) r(6) r(6)`},
		{"viper's first transaction", Viper, `{"isInitial": true, "value": [["range","nil","nil",[{"id":1,"val":3}],[]]]}
{"value":[["r",1,3,false],["r",1,4,false],["r",1,5,false]]}`, `
S0.T1 session=0 seq=0 committed
S0.T2 session=0 seq=1 committed r(1) r(1 4) r(1 5)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readAll(t, c.format, []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if text := "\n" + strings.TrimSpace(short(got)); text != c.want {
				t.Errorf("read:%s\nwant:%s", text, c.want)
			}
			if f := Detect([]byte(c.text)); f != c.format {
				t.Errorf("recognised as %s", f)
			}
		})
	}
}

// A broken file says where and why.
func TestFaults(t *testing.T) {
	t.Parallel()
	whole := bincodeOf("info", [][]dbcopTestTxn{{{[]dbcopTestEvent{{true, 1, 2, true}}, true}}})
	for _, c := range []struct {
		format Format
		text   string
		want   string
	}{
		{PolySI, "w(0,1,1,1)\nw(0,1,1)\n", "line 2: r(key,value,session,txn) or w(key,value,session,txn) is expected"},
		{PolySI, "w(0,99999999999999999999,1,1)", "line 1: "},
		{PolySI, "w(0,1,1,1,XX)", "line 1: "},
		{PolySI, "w(0,1,1,1) ;", "line 1: "},
		{AWDIT, "w 0 1\n--x\n", "line 2: "},
		{AWDIT, "w 0", "line 1: "},
		{DBCop, string(whole[:len(whole)-1]), "byte 110: the file ends early"},
		{DBCop, string(whole[:60]), "byte "},
		{DBCop, string(whole) + "x", "byte 111: 1 bytes behind the history"},
		{DBCop, strings.Replace(string(whole), "\x01\x01\x00", "\x07\x01\x00", 1), "byte 92: write is 7, neither 0 nor 1"},
		{DBCop, "", "byte 0: the file ends early"},
		{Viper, `{"value": [["w", 1, 2, true]}`, "line 1: byte 28: ',' or ']' is expected"},
		{Viper, "\n" + `{"value": [["x", 1, 2]]}`, `line 2: byte 15: operation "x" is not one of`},
		{Viper, `{"valued": 1}`, "line 1: byte 13: a transaction without"},
		{Viper, `{"value": [["w", 1, nil]]}`, "line 1: "},
	} {
		_, err := readAll(t, c.format, []byte(c.text))
		var fault *Fault
		if !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %s", c.format, c.text, err, c.want)
		}
	}
}

func TestReadDBCop(t *testing.T) {
	t.Parallel()
	data := bincodeOf("CockroachDB", [][]dbcopTestTxn{
		{{[]dbcopTestEvent{{true, 0, 1, true}, {false, 1, 0, true}, {true, 9, 9, false}}, true}, {nil, true}},
		{{[]dbcopTestEvent{{true, 1, 2, true}}, false}},
	})
	got, err := readAll(t, DBCop, data)
	if err != nil {
		t.Fatal(err)
	}
	const want = `S1.T1 session=1 seq=0 committed w(0 1) r(1)
S2.T1 session=2 seq=0 aborted w(1 2)
S1.T2 session=1 seq=1 committed
`
	if text := short(got); text != want {
		t.Errorf("read:\n%swant:\n%s", text, want)
	}
	if f := Detect(data); f != DBCop {
		t.Errorf("recognised as %s", f)
	}
}

func TestReadFolders(t *testing.T) {
	t.Parallel()
	session := func(ops ...any) *fstest.MapFile { return &fstest.MapFile{Data: cobraOf(ops...)} }
	for _, c := range []struct {
		name   string
		format Format
		dir    fstest.MapFS
		want   string
	}{
		{"cobra", Cobra, fstest.MapFS{
			"T2.log":   session('S', 0x20, 'R', 0x10, 1, 5, 6, 'R', cobraNull, cobraNull, 7, 0, 'C', 0x20),
			"T10.log":  session('S', 0x10, 'W', 1, 5, 6, 'C', 0x10, 'S', 0x11, 'W', 2, 5, 6, 'A', 0x11, 'S', 0x12, 'W', 3, 5, 6),
			"T2.debug": {Data: []byte("x")},
		}, `
S2.T20 session=2 seq=0 committed r(5 "10.1") r(7)
S10.T10 session=10 seq=0 committed w(5 "10.1")
S10.T11 session=10 seq=1 aborted w(5 "11.2")
S10.T12 session=10 seq=2 unknown w(5 "12.3")`},
		{"viper", Viper, fstest.MapFS{
			"json/J3.log": {Data: []byte(`{"value":[["w",1,2,true]]}`)},
			"json/J4.log": {Data: []byte(`{"value":[["r",1,2,false],["r",1,3,false]]}`)},
		}, `
S3.T1 session=3 seq=0 committed w(1 2)
S4.T1 session=4 seq=0 committed r(1 2) r(1)`},
	} {
		f, err := DetectDir(c.dir)
		if err != nil || f != c.format {
			t.Errorf("%s: recognised as %s, %v", c.name, f, err)
		}
		b := &event.Batch{Partitions: []string{"file:logs"}}
		r := Reader{Batch: b, Flush: func() error { return nil }}
		if err := r.ReadDir(c.format, c.dir); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if text := "\n" + strings.TrimSpace(short(recordsOf(t, b))); text != c.want {
			t.Errorf("%s: read:%s\nwant:%s", c.name, text, c.want)
		}
		if p := b.Where(b.Txns[1].Pos); !strings.HasPrefix(p, "file:logs/") {
			t.Errorf("%s: position %s", c.name, p)
		}
	}
	for _, c := range []struct {
		log  *fstest.MapFile
		want string
	}{
		{session('S', 1, 'S', 2), "T0.log: byte 9: 'S' where a transaction is open"},
		{session('C', 1), "T0.log: byte 0: 'C' where a transaction is not open"},
		{session('S', 1, 'C', 2), "T0.log: byte 9: 'C' of transaction 2, 1 is open"},
		{&fstest.MapFile{Data: []byte("Sx")}, "T0.log: byte 0: the file ends within 'S'"},
		{&fstest.MapFile{Data: []byte("x")}, "T0.log: byte 0: 'x' is not one of S, R, W, C, A"},
	} {
		r := Reader{Batch: &event.Batch{}}
		if err := r.ReadDir(Cobra, fstest.MapFS{"T0.log": c.log}); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, err := DetectDir(fstest.MapFS{"x": {}}); err == nil {
		t.Error("a folder of something else is recognised")
	}
}

// A history larger than a batch is given out in several, and nothing is lost.
func TestFlush(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	const txns = 40_000
	for i := range txns {
		fmt.Fprintf(&text, "w(%d,%d,%d,%d)\nr(%d,0,%d,%d)\n", i, i+1, i/10_000, i, i+txns, i/10_000, i)
	}
	flushes, got, ops := 0, 0, 0
	b := &event.Batch{Partitions: []string{"file:x"}}
	take := func() error {
		flushes++
		got += len(b.Txns)
		ops += len(b.Ops)
		for i := range b.Txns {
			if s := b.Text(b.Txns[i].Source); s != event.DefaultSource {
				t.Fatalf("source %q", s)
			}
		}
		b.Reset()
		return nil
	}
	r := Reader{Batch: b, Flush: take}
	if err := r.Read(PolySI, strings.NewReader(text.String())); err != nil {
		t.Fatal(err)
	}
	if err := take(); err != nil {
		t.Fatal(err)
	}
	if flushes < 2 || got != txns || ops != 2*txns {
		t.Errorf("%d transactions, %d operations in %d batches", got, ops, flushes)
	}
	full := errors.New("full")
	r = Reader{Batch: &event.Batch{Partitions: []string{"file:x"}}, Flush: func() error { return full }}
	if err := r.Read(PolySI, strings.NewReader(text.String())); !errors.Is(err, full) {
		t.Errorf("%v, want what Flush returned", err)
	}
}
