// Package workload makes transactions for the demo, the tests and the benchmarks. A
// deterministic [Generator] runs over a simulated store of known isolation, with named
// anomalies planted where asked. A live in-memory [Store] has real concurrent clients and
// switchable isolation bugs.
//
// It covers the two kinds of object whose version order a client can observe. They are
// registers written after a read of the same key (MTC, definition 8), and lists that are only
// appended to (Elle, section 4.2). Values are integers and unique within a key, so that a value
// names its writer.
package workload

import "github.com/isowatch/isowatch/event"

// Txn is one finished transaction as its client recorded it.
type Txn struct {
	Source  string // the database; empty is the default source
	ID      string // unique within Source
	Name    string // the transaction's template, for people only
	TraceID string // of the client's trace; empty: none
	Session string // empty: no session order
	Seq     int64  // from 1 within Session; 0: not recorded
	Status  event.Status
	Start   int64 // client clock, ns since the Unix epoch
	End     int64 // as Start; 0: neither was recorded
	Ops     []Op  // in program order

	Bug Bug // of the store, which the transaction suffered; no part of its record
}

// Op is one operation: a register read or write, a list read or an append, or one
// of another kind.
type Op struct {
	Kind   event.OpKind // event.Read, event.Write or event.Append
	Key    string
	Value  int64   // written, appended or read from a register
	Absent bool    // a register read that found nothing
	IsList bool    // a read that returned List
	List   []int64 // the elements a list read returned, oldest first
	Other
}

// Read is a register read of key that returned v.
func Read(key string, v int64) Op { return Op{Kind: event.Read, Key: key, Value: v} }

// Nothing says whether a read of a register or a list found nothing.
func (o *Op) Nothing() bool { return o.Absent || o.IsList && len(o.List) == 0 }

// ReadAbsent is a register read of key that found nothing.
func ReadAbsent(key string) Op { return Op{Kind: event.Read, Key: key, Absent: true} }

// ReadList is a list read of key that returned elems.
func ReadList(key string, elems ...int64) Op {
	return Op{Kind: event.Read, Key: key, IsList: true, List: elems}
}

// Write sets the register key to v.
func Write(key string, v int64) Op { return Op{Kind: event.Write, Key: key, Value: v} }

// Append adds v at the end of the list key.
func Append(key string, v int64) Op { return Op{Kind: event.Append, Key: key, Value: v} }

// Clone copies t so that changing the copy's operations leaves t as it is.
func (t Txn) Clone() Txn {
	ops := make([]Op, len(t.Ops))
	copy(ops, t.Ops)
	for i := range ops {
		ops[i].List = append([]int64(nil), ops[i].List...)
		ops[i].Other = ops[i].Other.clone()
	}
	t.Ops = ops
	return t
}
