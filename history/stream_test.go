package history

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/isowatch/isowatch/event"
)

// readStream reads the history as a stream, its bytes in pieces of any size.
func readStream(t *testing.T, f Format, data []byte) ([]event.Record, error) {
	t.Helper()
	var out []event.Record
	b := &event.Batch{Partitions: []string{"file:x"}}
	r := Reader{Batch: b, Size: int64(len(data)), Stream: true}
	r.Flush = func() error {
		out = append(out, recordsOf(t, b)...)
		names := b.Partitions
		b.Reset()
		b.Partitions = names
		return nil
	}
	err := r.Read(f, iotest.HalfReader(strings.NewReader(string(data))))
	return append(out, recordsOf(t, b)...), err
}

// compareStream reads the history as a whole and as a stream: the same transactions,
// the members of a session in their order; the same fault; or it is no stream. It says
// whether it was one.
func compareStream(t *testing.T, f Format, data []byte) bool {
	t.Helper()
	want, wantErr := readAll(t, f, data)
	got, err := readStream(t, f, data)
	if errors.Is(err, ErrWhole) {
		return false
	}
	if wantErr != nil || err != nil {
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("as a stream: %v, as a whole: %v", err, wantErr)
		}
		return true
	}
	for _, recs := range [][]event.Record{want, got} {
		slices.SortStableFunc(recs, func(a, b event.Record) int { return cmp.Compare(a.Session, b.Session) })
	}
	if !reflect.DeepEqual(want, got) && len(want)+len(got) > 0 {
		t.Fatalf("as a stream:\n%sas a whole:\n%s", short(got), short(want))
	}
	return true
}

func TestStream(t *testing.T) {
	t.Parallel()
	streamed := map[Format]int{}
	for i := range 100 {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		var polysi, awdit strings.Builder
		var txns [][]dbcopTestTxn
		few := rng.IntN(2) // with it, values of 0 are written and numbers are met again
		for s := range 1 + rng.IntN(4) {
			var of []dbcopTestTxn
			for n := range 1 + rng.IntN(1+rng.IntN(300)) {
				id := n
				if rng.IntN(20) == 0 {
					id = n*few*rng.IntN(2) - 1
				}
				var ops []dbcopTestEvent
				for range 1 + rng.IntN(4) {
					e := dbcopTestEvent{rng.IntN(2) == 0, uint64(rng.IntN(50)), uint64(rng.IntN(1000)), rng.IntN(9) > 0}
					if e.write && few == 0 {
						e.value++
					}
					if i%3 == 0 && n == 0 && s == 0 {
						e.write, e.value = true, 0
					}
					ops = append(ops, e)
					name := map[bool]string{false: "r", true: "w"}[e.write]
					fmt.Fprintf(&polysi, "%s(%d,%d,%d,%d)\n", name, e.variable, e.value, s, id)
					fmt.Fprintf(&awdit, "%s %d %d\n", name, e.variable, e.value)
				}
				awdit.WriteString("----\n")
				of = append(of, dbcopTestTxn{ops, rng.IntN(9) > 0})
				if i%3 == 0 && s == 0 {
					break
				}
			}
			awdit.WriteString("====\n")
			txns = append(txns, of)
		}
		for f, data := range map[Format][]byte{PolySI: []byte(polysi.String()), AWDIT: []byte(awdit.String()), DBCop: bincodeOf("x", txns)} {
			if compareStream(t, f, data) {
				streamed[f]++
			}
			if cut := data[:rng.IntN(len(data))]; len(cut) > 0 {
				compareStream(t, f, cut)
			}
		}
	}
	t.Logf("of 100 each: %v", streamed)
	if streamed[AWDIT] != 100 || streamed[PolySI] < 20 || streamed[PolySI] > 95 || streamed[DBCop] < 20 || streamed[DBCop] > 95 {
		t.Errorf("of 100 each %v were streams", streamed)
	}
	for _, c := range []struct {
		name, text string
		streamed   bool
	}{
		{"zeros that set up", "w(0,0,0,0)\nw(1,0,0,0)\nr(1,0,1,1)\n", true},
		{"zeros that set up, but the session goes on", "w(0,0,0,0)\nw(1,0,0,0)\nr(1,0,1,1)\nr(1,0,0,2)\n", false},
		{"zeros alone", "w(0,0,0,0)\n", false},
		{"a zero that is written later", "r(0,0,0,0)\nw(0,0,1,1)\n", false},
		{"a transaction in two pieces", "r(0,0,0,0)\nr(0,0,1,1)\nr(0,0,0,0)\n", false},
		{"a transaction in pieces that belong together", "r(0,0,0,0)\nr(0,0,0,0)\nr(0,0,1,0)\n", true},
		{"numbers of a session that fall", "r(0,0,0,2)\nr(0,0,0,1)\n", false},
		{"the least number there is", "r(1,1,0,-9223372036854775808)\nr(1,1,0,-9223372036854775807)\n", false},
		{"the zero numbers", "r(1,1,0,0)\n", true},
	} {
		if got := compareStream(t, PolySI, []byte(c.text)); got != c.streamed {
			t.Errorf("%s: a stream: %v", c.name, got)
		}
	}
}

// A stream ends where Flush or the file fails.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("w 1 2\n---\n", 3*streamOps)
	full := errors.New("full")
	r := Reader{Batch: &event.Batch{Partitions: []string{"file:x"}}, Stream: true, Flush: func() error { return full }}
	if err := r.Read(AWDIT, strings.NewReader(text)); !errors.Is(err, full) {
		t.Errorf("%v, want what Flush returned", err)
	}
	r = Reader{Batch: &event.Batch{Partitions: []string{"file:x"}}, Stream: true, Flush: func() error { return nil }}
	if err := r.Read(AWDIT, iotest.TimeoutReader(strings.NewReader(text))); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("%v, want what the file gave", err)
	}
}
