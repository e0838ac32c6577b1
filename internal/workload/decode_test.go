package workload

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
)

// TestEventsDecode hands generated JSON to the decoder that the monitor uses and
// checks that nothing of a transaction is lost or changed on the way.
func TestEventsDecode(t *testing.T) {
	for _, kind := range []Kind{Registers, Lists} {
		rng := rand.New(rand.NewPCG(2, 3))
		g, err := NewGenerator(Config{Kind: kind, Keys: 30, WriteRatio: 0.5, Aborted: 0.1, Unknown: 0.1, PlantEvery: 20, Count: 1000}, rng)
		if err != nil {
			t.Fatal(err)
		}
		var d event.Decoder
		var b event.Batch
		a := NewArrivals(g, time.Millisecond, rng)
		for txn, ok := a.Next(); ok; txn, ok = a.Next() {
			b.Reset()
			d.DecodeMessage(&b, event.Position{}, AppendJSON(nil, &txn))
			if len(b.Bad) > 0 || len(b.Txns) != 1 {
				t.Fatalf("%s: %d transactions, dead letters %+v", txn.Text(), len(b.Txns), b.Bad)
			}
			if got := decoded(t, &b); got.Text() != txn.Text() {
				t.Fatalf("decoded as\n%s\nfrom\n%s", got.Text(), txn.Text())
			}
		}
	}
}

// decoded is the only transaction of b.
func decoded(t *testing.T, b *event.Batch) Txn {
	t.Helper()
	e := &b.Txns[0]
	txn := Txn{ID: b.Text(e.ID), Session: b.Text(e.Session), Status: e.Status}
	if e.Flags&event.HasSeq != 0 {
		txn.Seq = e.Seq
	}
	if e.Flags&event.HasTimes != 0 {
		txn.Start, txn.End = e.Start, e.End
	}
	for _, o := range b.OpsOf(e) {
		op := Op{Kind: o.Kind, Key: b.Text(o.Key), Absent: o.Flags&event.NotFound != 0, IsList: o.Flags&event.IsArray != 0}
		switch {
		case op.IsList:
			for _, elem := range b.ElemsOf(&o) {
				op.List = append(op.List, integer(t, b.Text(elem.Value)))
			}
		case !op.Absent:
			op.Value = integer(t, b.Text(o.Value))
		}
		txn.Ops = append(txn.Ops, op)
	}
	return txn
}

func integer(t *testing.T, text string) int64 {
	t.Helper()
	list, err := parseList("[" + text + "]")
	if err != nil || len(list) != 1 {
		t.Fatalf("value %q is not an integer", text)
	}
	return list[0]
}
