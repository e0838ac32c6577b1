package probe

import (
	"context"
	"strconv"

	"github.com/isowatch/isowatch/event"
)

// Tx is a transaction as a workload writes it down: its methods run one operation each. After
// the first failure the others have no effect and no result, so that a workload need not look.
type Tx struct {
	ctx     context.Context
	session Session
	id      string // of the record
	pause   func() // before each operation but the first
	counted bool   // counters tell their versions

	answered []event.RecordOp // what the record says
	err      error
}

func (tx *Tx) do(op Op) Op {
	if tx.err == nil && len(tx.answered) > 0 {
		tx.pause()
	}
	if tx.err == nil {
		tx.err = tx.session.Do(tx.ctx, &op)
	}
	if tx.err != nil {
		op.Flags |= event.NotFound
		return op
	}
	tx.answered = append(tx.answered, op.RecordOp)
	return op
}

// read is a register's value, as JSON.
func (tx *Tx) read(key string) (value string, found bool) {
	op := tx.do(Op{RecordOp: event.RecordOp{Kind: event.Read, Key: key}})
	return op.Value, op.Flags&event.NotFound == 0
}

// number is the value of a register that holds one; 0 without one.
func (tx *Tx) number(key string) int64 {
	value, _ := tx.read(key)
	n, _ := strconv.ParseInt(value, 10, 64)
	return n
}

// list and counter read such an object, for the record alone.
func (tx *Tx) list(key string) {
	tx.do(Op{RecordOp: event.RecordOp{Kind: event.Read, Data: event.List, Key: key}})
}

func (tx *Tx) counter(key string) {
	tx.do(Op{RecordOp: event.RecordOp{Kind: event.Read, Data: event.Counter, Key: key}, Versions: tx.counted})
}

// upsert writes a register, which it creates if need be; update only one that is
// there.
func (tx *Tx) upsert(key, value string) {
	tx.do(Op{RecordOp: event.RecordOp{Kind: event.Write, Key: key, Value: value}})
}

func (tx *Tx) update(key, value string) {
	tx.do(Op{RecordOp: event.RecordOp{Kind: event.Write, Key: key, Value: value}, Update: true})
}

func (tx *Tx) insert(key, value string) {
	tx.do(Op{RecordOp: event.RecordOp{Kind: event.Insert, Key: key, Value: value}})
}

func (tx *Tx) delete(key string) {
	tx.do(Op{RecordOp: event.RecordOp{Kind: event.Delete, Key: key}})
}

// append adds one element to a list.
func (tx *Tx) append(key, value string) {
	tx.do(Op{RecordOp: event.RecordOp{Kind: event.Append, Key: key, Value: value}})
}

// create makes a counter that holds 0.
func (tx *Tx) create(key string) {
	tx.do(Op{RecordOp: event.RecordOp{Kind: event.Insert, Data: event.Counter, Key: key, Value: "0"}, Versions: tx.counted})
}

// inc adds n to a counter that is there.
func (tx *Tx) inc(key string, n int64) {
	tx.do(Op{RecordOp: event.RecordOp{Kind: event.Inc, Key: key, Value: text(n)}, Versions: tx.counted})
}

// scan reads the registers whose keys are from one text on and before another.
func (tx *Tx) scan(from, to string) {
	tx.do(Op{RecordOp: event.RecordOp{Kind: event.Range, From: from, To: to, HasFrom: true, HasTo: true}})
}

// giveUp has the transaction end with a rollback.
func (tx *Tx) giveUp() {
	if tx.err == nil {
		tx.err = errGivenUp
	}
}

// text is n as JSON.
func text(n int64) string { return strconv.FormatInt(n, 10) }
