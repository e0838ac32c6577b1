package history

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// The generated history: 25 sessions, 100,000 transactions of 8 operations, half
// of them reads, 10,000 keys.
const (
	benchSessions = 25
	benchTxns     = 100_000
	benchOps      = 8
	benchKeys     = 10_000
)

// eachOp calls fn for every operation, session behind session.
func eachOp(fn func(session, txn int, write bool, key, value uint64)) {
	rng := rand.New(rand.NewPCG(1, 2))
	last := make([]uint64, benchKeys)
	value := uint64(0)
	for txn := range benchTxns {
		for range benchOps {
			key := rng.Uint64N(benchKeys)
			if rng.IntN(2) == 0 {
				value++
				last[key] = value
				fn(txn/(benchTxns/benchSessions), txn, true, key, value)
			} else {
				fn(txn/(benchTxns/benchSessions), txn, false, key, last[key])
			}
		}
	}
}

func benchDBCop() []byte {
	sessions := make([][]dbcopTestTxn, benchSessions)
	last := -1
	eachOp(func(s, txn int, write bool, key, value uint64) {
		if txn != last {
			sessions[s] = append(sessions[s], dbcopTestTxn{success: true})
			last = txn
		}
		t := &sessions[s][len(sessions[s])-1]
		t.events = append(t.events, dbcopTestEvent{write, key, value, true})
	})
	return bincodeOf("generated", sessions)
}

func benchPolySI() []byte {
	var text bytes.Buffer
	eachOp(func(s, txn int, write bool, key, value uint64) {
		op := "r"
		if write {
			op = "w"
		}
		fmt.Fprintf(&text, "%s(%d,%d,%d,%d)\n", op, key, value, s, txn)
	})
	return text.Bytes()
}

func benchAWDIT() []byte {
	var text bytes.Buffer
	lastSession, lastTxn := 0, 0
	eachOp(func(s, txn int, write bool, key, value uint64) {
		switch {
		case s != lastSession:
			text.WriteString("=====\n")
		case txn != lastTxn:
			text.WriteString("-----\n")
		}
		lastSession, lastTxn = s, txn
		op := "r"
		if write {
			op = "w"
		}
		fmt.Fprintf(&text, "%s %d %d\n", op, key, value)
	})
	return text.Bytes()
}

func benchViper() []byte {
	var text bytes.Buffer
	last := -1
	eachOp(func(_, txn int, write bool, key, value uint64) {
		switch {
		case last < 0:
			text.WriteString(`{"value": [`)
		case txn != last:
			text.WriteString("]}\n{\"value\": [")
		default:
			text.WriteString(", ")
		}
		last = txn
		if write {
			fmt.Fprintf(&text, `["w", %d, %d, true]`, key, value)
		} else {
			fmt.Fprintf(&text, `["r", %d, %d, false]`, key, value)
		}
	})
	text.WriteString("]}\n")
	return text.Bytes()
}

// BenchmarkRead reads a history of 800,000 operations.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		format Format
		make   func() []byte
	}{{DBCop, benchDBCop}, {PolySI, benchPolySI}, {AWDIT, benchAWDIT}, {Viper, benchViper}} {
		b.Run(string(c.format), func(b *testing.B) {
			data := c.make()
			b.SetBytes(int64(len(data)))
			batch := &event.Batch{}
			b.ReportAllocs()
			for b.Loop() {
				txns := 0
				batch.Partitions = []string{"file:x"}
				r := Reader{Batch: batch, Flush: func() error {
					txns += len(batch.Txns)
					batch.Reset()
					return nil
				}}
				if err := r.Read(c.format, bytes.NewReader(data)); err != nil {
					b.Fatal(err)
				}
				if txns += len(batch.Txns); txns != benchTxns {
					b.Fatalf("%d transactions", txns)
				}
				batch.Reset()
			}
		})
	}
}
