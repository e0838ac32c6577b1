package history

import (
	"fmt"
	"strconv"

	"github.com/isowatch/isowatch/event"
)

// Jepsen's workloads whose operations are not transactions of micro-operations,
// each operation as a transaction of its own:
//
//	:read, :write, :cas [a b]                    a register, key "register"
//	:read, :add n, reads of a number             a counter, key "c"
//	:read, :add x (:write x), reads of several   a set, key "set"
//	:transfer {:from :to :amount}, reads of maps bank: counters, a key each account
//	:acquire, :release                           a mutex: cas between "free" and "held"
//	:get, :put, :append with :key                porcupine's store of texts: lists

// workload chooses how the operations are read, by all that they do.
func (e *elleEmitter) workload(ops []*elleOp) error {
	var names []string
	has := map[string]bool{}
	var scalar, several, maps, keyed bool
	tuples, values := true, false
	for _, o := range ops {
		f := string(o.f.text)
		if !has[f] {
			has[f] = true
			names = append(names, f)
		}
		keyed = keyed || o.key.kind != nothing
		if f == "read" && o.outcome == event.Committed {
			switch o.completed.kind {
			case number, quoted, word, truth:
				scalar = true
			case vector, set:
				several = true
			case mapping:
				maps = true
			}
		}
		if f == "write" {
			values = true
			v := o.value()
			tuples = tuples && v.kind == vector && len(v.items) == 2
		}
	}
	only := func(allowed ...string) bool {
		n := 0
		for _, a := range allowed {
			if has[a] {
				n++
			}
		}
		return n == len(names)
	}
	switch {
	case len(ops) == 0:
		return nil
	case keyed && only("get", "put", "append"):
		return e.texts(ops)
	case has["transfer"] && only("read", "transfer"), maps && only("read"):
		e.Contract = "start=existing" // what the accounts held at first, nobody wrote
		e.put = e.bank
	case only("acquire", "release"):
		e.put = e.mutex
		return e.mutexFree()
	case has["add"] && only("read", "add") && scalar && !several:
		e.put = e.counter
	case only("read", "add") && (has["add"] || several), several && !tuples && only("read", "write"):
		e.put = e.set
	case only("read", "write", "cas"):
		e.regKeys = values && tuples
		e.put = e.register
	default:
		return &Fault{Unit: "line", At: ops[0].line, Reason: fmt.Sprintf(
			"operations called %q: no known workload has all of them", names)}
	}
	return nil
}

// answered says whether a read came back.
func answered(o *elleOp) bool { return o.outcome == event.Committed }

// integer writes an operation whose value is a number.
func (e *elleEmitter) integer(op string, key []byte, n int64) {
	e.named(op, key)
	e.buf = append(e.buf, `,"value":`...)
	e.buf = strconv.AppendInt(e.buf, n, 10)
	e.buf = append(e.buf, '}')
}

func (e *elleEmitter) bank(o *elleOp) error {
	if o.f.is("read") {
		if !answered(o) {
			return nil
		}
		if o.completed.kind != mapping {
			return e.unreadable("a read of the bank shows no accounts")
		}
		for i := 0; i+1 < len(o.completed.items); i += 2 {
			if o.completed.items[i+1].kind == nothing {
				continue
			}
			e.operation("r", &o.completed.items[i])
			e.buf = append(e.buf, `,"kind":"counter"`...)
			e.field("value", &o.completed.items[i+1])
			e.buf = append(e.buf, '}')
		}
		return nil
	}
	v := &o.invoked
	if v.kind != mapping {
		v = &o.completed
	}
	from, to, amount := v.get("from"), v.get("to"), v.get("amount")
	n, ok := amount.integer()
	if !ok || from.kind == nothing || to.kind == nothing {
		return e.unreadable("a transfer without from, to and an integer amount")
	}
	e.integer("inc", from.name(), -n)
	e.integer("inc", to.name(), n)
	return nil
}

const counterKey = "c"

func (e *elleEmitter) counter(o *elleOp) error {
	if o.f.is("add") {
		if o.value().kind != number {
			return e.unreadable("only a number can be added to a counter")
		}
		e.named("inc", []byte(counterKey))
		e.field("value", o.value())
	} else {
		if !answered(o) {
			return nil
		}
		e.named("r", []byte(counterKey))
		e.buf = append(e.buf, `,"kind":"counter"`...)
		e.field("value", &o.completed)
	}
	e.buf = append(e.buf, '}')
	return nil
}

const setKey = "set"

func (e *elleEmitter) set(o *elleOp) error {
	if !o.f.is("read") {
		e.named("add", []byte(setKey))
		e.field("value", o.value())
		e.buf = append(e.buf, '}')
		return nil
	}
	if !answered(o) {
		return nil
	}
	shown := o.completed
	if shown.kind == nothing {
		shown.kind = vector
	}
	e.named("r", []byte(setKey))
	e.buf = append(e.buf, `,"kind":"set"`...)
	e.field("value", &shown)
	e.buf = append(e.buf, '}')
	return nil
}

// register writes a read, a write or a compare-and-set. A :fail says that it had
// no effect, and not why.
func (e *elleEmitter) register(o *elleOp) error {
	key, value := node{kind: word, text: []byte("register")}, *o.value()
	if e.regKeys && value.kind == vector && len(value.items) == 2 {
		key, value = value.items[0], value.items[1]
	}
	switch {
	case o.f.is("read"):
		if !answered(o) {
			return nil
		}
		e.operation("r", &key)
		e.field("value", &value)
	case o.f.is("write"):
		e.operation("w", &key)
		e.field("value", &value)
	default:
		if value.kind != vector || len(value.items) != 2 {
			value = o.invoked
			if e.regKeys && value.kind == vector && len(value.items) == 2 {
				value = value.items[1]
			}
		}
		if value.kind != vector || len(value.items) != 2 {
			return e.unreadable("a cas without its two values")
		}
		e.cas(&key, &value.items[0], &value.items[1], !o.refused)
	}
	e.buf = append(e.buf, '}')
	return nil
}

func (e *elleEmitter) cas(key, expected, value *node, success bool) {
	e.operation("cas", key)
	e.field("expected", expected)
	e.field("value", value)
	e.buf = append(e.buf, `,"success":`...)
	e.buf = strconv.AppendBool(e.buf, success)
}

var (
	mutexKey  = node{kind: word, text: []byte("mutex")}
	mutexFree = node{kind: quoted, text: []byte("free")}
	mutexHeld = node{kind: quoted, text: []byte("held")}
)

// mutexFree emits the state in which a mutex begins.
func (e *elleEmitter) mutexFree() error {
	acquire := e.put
	e.put = func(*elleOp) error {
		e.operation("w", &mutexKey)
		e.field("value", &mutexFree)
		e.buf = append(e.buf, '}')
		return nil
	}
	err := e.op(&elleOp{name: "initial", start: 1, end: 2, outcome: event.Committed, line: 1})
	e.put = acquire
	return err
}

func (e *elleEmitter) mutex(o *elleOp) error {
	from, to := &mutexFree, &mutexHeld
	if o.f.is("release") {
		from, to = to, from
	}
	e.cas(&mutexKey, from, to, true)
	e.buf = append(e.buf, '}')
	return nil
}
