package whole

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/testrun"
)

// randomHistory is a small history with anomalies, aborted and unknown transactions:
// of lists, or of registers that are read before they are written.
func randomHistory(seed uint64, lists bool) []byte {
	rng := rand.New(rand.NewPCG(seed, 7))
	var text []byte
	state := map[string][]string{"x": nil, "y": nil, "z": nil}
	value := 0
	for i := range 12 {
		r := event.Record{
			ID: fmt.Sprint("t", i), Session: fmt.Sprint("c", i%3), Seq: int64(i / 3), Flags: event.HasSeq | event.HasTimes,
			Start: int64(1000 + 10*i), End: int64(1000 + 10*i + rng.IntN(29)), Status: event.Committed,
		}
		switch rng.IntN(6) {
		case 0:
			r.Status = event.Aborted
		case 1:
			r.Status = event.Unknown
		}
		for _, key := range []string{"x", "y", "z"}[rng.IntN(2):] {
			seen := state[key]
			if len(seen) > 0 && rng.IntN(12) == 0 {
				seen = seen[:len(seen)-1] // stale
			}
			read := event.RecordOp{Kind: event.Read, Key: key}
			switch {
			case lists:
				read.Flags, read.Elems, read.Value = event.IsArray, seen, "["+strings.Join(seen, ",")+"]"
			case len(seen) == 0:
				read.Flags = event.NotFound
			default:
				read.Value = seen[len(seen)-1]
			}
			r.Ops = append(r.Ops, read)
			if rng.IntN(2) == 0 {
				continue
			}
			value++
			w := event.RecordOp{Kind: event.Write, Key: key, Value: fmt.Sprint(value)}
			if lists {
				w.Kind = event.Append
			}
			r.Ops = append(r.Ops, w)
			if r.Status == event.Committed || rng.IntN(12) == 0 || r.Status == event.Unknown && rng.IntN(2) == 0 {
				state[key] = append(seen[:len(seen):len(seen)], w.Value)
			}
		}
		text = append(event.AppendJSON(text, &r), '\n')
	}
	return text
}

// A history says the same in every form: its verdicts are those of the first one.
func TestConvert(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(testrun.Size(20, 100)) {
		for _, lists := range []bool{true, false} {
			text := randomHistory(seed, lists)
			want := checkText(t, plainly(), string(text)).Verdicts
			forms := []history.Format{history.JSONL, history.EDN}
			if !lists {
				forms = append(forms, history.PolySI, history.DBCop)
			}
			for _, f := range forms {
				written := converted(t, f, text)
				r := checkText(t, plainly(), string(written))
				if r.Format != string(f) {
					t.Fatalf("seed %d: written as %s, read as %s:\n%s", seed, f, r.Format, written)
				}
				if !reflect.DeepEqual(r.Verdicts, want) {
					t.Fatalf("seed %d, %s: %v, want %v\n%s\n%s", seed, f, r.Verdicts, want, text, written)
				}
				// and back
				if f != history.JSONL {
					back := checkText(t, plainly(), string(converted(t, history.JSONL, written)))
					if !reflect.DeepEqual(back.Verdicts, want) {
						t.Fatalf("seed %d, %s and back: %v, want %v", seed, f, back.Verdicts, want)
					}
				} else if !bytes.Equal(written, text) {
					t.Fatalf("seed %d: %s is written as %s", seed, text, written)
				}
			}
			for _, v := range want {
				seen[v]++
			}
		}
	}
	if seen["ok"] < testrun.Size(10, 50) || seen["violated"] < testrun.Size(10, 50) {
		t.Errorf("verdicts %v: the histories show too little", seen)
	}
}

func converted(t *testing.T, to history.Format, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	c := Convert{To: to, Stdin: bytes.NewReader(text), BadRecord: func(position, reason string) {
		t.Errorf("%s: %s", position, reason)
	}}
	if _, err := c.File("-", &out); err != nil {
		t.Fatalf("to %s: %v\n%s", to, err, text)
	}
	return out.Bytes()
}

// What a format cannot hold is refused, and the transaction named.
func TestConvertRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		to   history.Format
		text string
		want string
	}{
		{history.PolySI, `{"txn":"T1","status":"committed","ops":[{"op":"append","key":"x","value":1}]}`, "transaction T1: append of key"},
		{history.DBCop, `{"txn":"T1","status":"committed","ops":[{"op":"r","key":"x","value":[1]}]}`, "transaction T1: r of key"},
		{history.EDN, `{"txn":"T1","status":"committed","ops":[{"op":"inc","key":"x","value":1}]}`, "transaction T1: inc of key"},
		{history.EDN, `{"txn":"T1","status":"committed","ops":[{"op":"w","key":"x","value":null}]}`, "holds a null"},
		{history.EDN, `{"txn":"T1","source":"a","status":"committed","ops":[]}` + "\n" + `{"txn":"T1","source":"b","status":"committed","ops":[]}`, "several sources"},
		{history.Cobra, ``, "not written"},
	} {
		cv := Convert{To: c.to, Stdin: strings.NewReader(c.text)}
		if _, err := cv.File("-", &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
	}
	// Operation-level records become transactions; what the format implies is said.
	var out bytes.Buffer
	cv := Convert{To: history.JSONL, Stdin: strings.NewReader(`{"type":"begin","txn":"T"}` + "\n" + `{"type":"op","txn":"T","index":0,"op":"w","key":"x","value":1}`)}
	if a, err := cv.File("-", &out); err != nil || a.Transactions != 1 || !strings.Contains(out.String(), `"status":"unknown"`) {
		t.Errorf("%+v, %v, %s", a, err, &out)
	}
	out.Reset()
	cv = Convert{To: history.JSONL, Stdin: strings.NewReader(`{:type :ok :process 0 :f :transfer :value {:from 1 :to 2 :amount 3}}`)}
	a, err := cv.File("-", &out)
	if err != nil || a.Contract != "start=existing" {
		t.Errorf("%+v, %v", a, err)
	}
	if err := new(config.Contract).Set(a.Contract); err != nil {
		t.Error(err)
	}
}

// plainly is how a file is checked with no setting.
func plainly() *Whole { return &Whole{Watch: config.DefaultWatch(config.WholeContract())} }
