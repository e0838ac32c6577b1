package child

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/event"
)

// question is an operation as a child gets it.
type question struct {
	Op    string          `json:"op"`
	Key   string          `json:"key,omitempty"`
	Kind  string          `json:"kind,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	From  string          `json:"from,omitempty"`
	To    string          `json:"to,omitempty"`
}

// request is the line of a transaction: {"ops":[{"op":"r","key":"k"},{"op":"w","key":"k","value":7}]}.
func request(ops []event.RecordOp) []byte {
	line := struct {
		Ops []question `json:"ops"`
	}{Ops: []question{}}
	for _, o := range ops {
		q := question{Op: o.Kind.String(), Key: o.Key, Value: json.RawMessage(o.Value), From: o.From, To: o.To}
		if o.Data != event.AnyKind {
			q.Kind = o.Data.String()
		}
		line.Ops = append(line.Ops, q)
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // values are JSON
	}
	return append(text, '\n')
}

// answer is a child's answer to a transaction.
type answer struct {
	status event.Status
	ops    []event.RecordOp
	err    error // nil when it is committed
}

// parse reads an answer, which is a record without an id: a decoder of records reads it.
func parse(line []byte) (answer, error) {
	var said struct {
		Status, Error string
		Ops           json.RawMessage
	}
	if err := json.Unmarshal(line, &said); err != nil {
		return answer{}, errors.New("no JSON object")
	}
	if said.Status == "" {
		return answer{}, errors.New("without a status")
	}
	if said.Status != "committed" || len(said.Ops) == 0 {
		said.Ops = json.RawMessage("[]") // what was not committed needs no answers
	}
	var record bytes.Buffer
	fmt.Fprintf(&record, `{"txn":"answer","status":%q,"ops":%s}`, said.Status, said.Ops)
	var d event.Decoder
	var b event.Batch
	d.Decode(&b, event.Position{}, record.Bytes())
	if len(b.Bad) > 0 {
		return answer{}, fmt.Errorf("wrong (%s)", b.Bad[0].Reason)
	}
	r := b.Record(&b.Txns[0])
	a := answer{status: r.Status, ops: r.Ops}
	if r.Status != event.Committed {
		a.err = fmt.Errorf("the child says %s: %s", r.Status, short([]byte(said.Error)))
	}
	return a, nil
}

// Requests are examples of what a child gets: each operation once.
func Requests(prefix string) []string {
	k, l, c := prefix+"k000", prefix+"l0.0", prefix+"c000"
	var lines []string
	for _, ops := range [][]event.RecordOp{
		{{Kind: event.Read, Key: k}, {Kind: event.Write, Key: k, Value: "17"}},
		{{Kind: event.Read, Data: event.List, Key: l}, {Kind: event.Append, Key: l, Value: "18"}},
		{{Kind: event.Delete, Data: event.List, Key: l}},
		{{Kind: event.Range, From: prefix + "r", To: prefix + "s"}, {Kind: event.Delete, Key: prefix + "r000"}},
		{{Kind: event.Inc, Key: c, Value: "3"}, {Kind: event.Read, Data: event.Counter, Key: c}},
	} {
		lines = append(lines, strings.TrimSuffix(string(request(ops)), "\n"))
	}
	return lines
}
