package workload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
)

func TestTextRoundTrip(t *testing.T) {
	const text = `txn T1 session=a seq=1: append x 1, read y [1,2], read z nil, write z 3
txn T2 source=db session=a seq=7 status=aborted start=5 end=9: read l []
txn T3 session=b seq=none status=unknown: read z -3
txn T4:`
	txns, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range txns {
		lines = append(lines, txns[i].Text())
	}
	if got := strings.Join(lines, "\n"); got != text {
		t.Errorf("printed:\n%s\nwant:\n%s", got, text)
	}
}

func TestParseCountsSeqWithinTheSession(t *testing.T) {
	txns, err := Parse("txn 1 session=a:\n# between\n\ntxn 2 session=b:\ntxn 3 session=a:\ntxn 4 session=a seq=9:\ntxn 5 session=a:\ntxn 6:")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{1, 1, 2, 9, 10, 0} {
		if txns[i].Seq != want {
			t.Errorf("transaction %s has seq %d, want %d", txns[i].ID, txns[i].Seq, want)
		}
	}
}

func TestParseErrorsNameTheLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"txn 1: read x 1\nread x 1", "line 2: "},
		{"txn", "is not of the form"},
		{"txn 1 session: read x 1", "field=value"},
		{"txn 1 status=maybe: read x 1", `status "maybe"`},
		{"txn 1 colour=red: read x 1", `unknown field "colour"`},
		{"txn 1 session=a seq=0: read x 1", `seq "0"`},
		{"txn 1 start=soon: read x 1", "soon"},
		{"txn 1: read x", "is not of the form"},
		{"txn 1: read x [1", "no closing bracket"},
		{"txn 1: read x [1,b]", `element "b"`},
		{"txn 1: write x nil", `value "nil" is not an integer`},
		{"txn 1: delete x 1", `"delete" is not one of`},
	} {
		if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%q) error is %v, want one with %q", c.text, err, c.want)
		}
	}
}

func TestAppendJSON(t *testing.T) {
	txns, err := Parse("txn T1 source=db session=a start=5 end=9: append x 1, read y [1,2], read z nil, write z 3, read w -4, read e []\ntxn T2 status=unknown:")
	if err != nil {
		t.Fatal(err)
	}
	txns[0].TraceID, txns[0].Name = "4bf9", "pay \"now\" é"
	want := []string{
		`{"txn":"T1","source":"db","name":"pay \"now\" é","trace_id":"4bf9","session":"a","seq":1,"status":"committed","start":5,"end":9,"ops":[` +
			`{"op":"append","key":"x","value":1},{"op":"r","key":"y","value":[1,2]},{"op":"r","key":"z","found":false},` +
			`{"op":"w","key":"z","value":3},{"op":"r","key":"w","value":-4},{"op":"r","key":"e","value":[]}]}`,
		`{"txn":"T2","status":"unknown","ops":[]}`,
	}
	for i := range txns {
		got := AppendJSON(nil, &txns[i])
		if string(got) != want[i] {
			t.Errorf("got  %s\nwant %s", got, want[i])
		}
		if !json.Valid(got) {
			t.Errorf("not valid JSON: %s", got)
		}
	}
}

func TestCloneSharesNoMemory(t *testing.T) {
	a := Txn{ID: "T1", Status: event.Committed, Ops: []Op{ReadList("x", 1, 2)}}
	b := a.Clone()
	b.Ops[0].List[0], b.Ops[0].Key = 9, "y"
	if a.Ops[0].List[0] != 1 || a.Ops[0].Key != "x" {
		t.Errorf("changing a clone changed the original to %s", a.Text())
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	for _, kind := range []Kind{Registers, Lists} {
		name := map[Kind]string{Registers: "registers", Lists: "lists"}[kind]
		b.Run(name, func(b *testing.B) {
			txns := generate(b, Config{Kind: kind}, 1, 4096)
			var buf []byte
			bytes := 0
			for i := 0; b.Loop(); i++ {
				buf = AppendJSON(buf[:0], &txns[i%len(txns)])
				bytes += len(buf)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "txn/s")
			b.ReportMetric(float64(bytes)/float64(b.N), "B/txn")
		})
	}
}
