package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
)

// ednOf writes canonical JSON as EDN.
func ednOf(dst []byte, json string) ([]byte, error) {
	r := nodeReader{data: []byte(json), json: true}
	n, err := r.read()
	if err != nil {
		return dst, err
	}
	return n.appendEDN(dst), nil
}

// appendEDN appends n as EDN.
func (n *node) appendEDN(dst []byte) []byte {
	open, end := byte('['), byte(']')
	switch n.kind {
	case nothing:
		return append(dst, "nil"...)
	case mapping:
		open, end = '{', '}'
	case vector, set:
	default:
		return n.appendJSON(dst)
	}
	dst = append(dst, open)
	for i := range n.items {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = n.items[i].appendEDN(dst)
	}
	return append(dst, end)
}

// ednLine is an invocation or a completion.
type ednLine struct {
	time  int64
	txn   int
	order int // among lines of one time: what overlaps must not seem to follow
	done  bool
}

// appendEDN writes a history of Elle: list-append and rw-register. Transactions with
// times have an invocation; the others have none, since it would say that they did
// not overlap.
func appendEDN(dst []byte, history []event.Record) ([]byte, error) {
	if len(history) > 0 && !oneSource(history) {
		return nil, errOneSource
	}
	process := make([]int, len(history))
	free := 0
	var lines []ednLine
	for _, members := range inSessions(history) {
		at, end := free, int64(-1<<63)
		free++
		for _, i := range members {
			r := &history[i]
			if r.Flags&event.HasTimes != 0 && r.Start < end {
				at = free // it overlaps the one before: no process does that
				free++
			}
			process[i] = at
			if r.Flags&event.HasTimes != 0 {
				order := 1
				if r.Start == end {
					order = 3 // behind the completion of the one before
				}
				end = r.End
				lines = append(lines, ednLine{r.Start, i, order, false}, ednLine{r.End, i, order + 1, true})
			} else {
				lines = append(lines, ednLine{int64(i), i, 1, true}) // in the order of the file
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b ednLine) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.order, b.order))
	})
	var err error
	for i, l := range lines {
		if dst, err = appendOperation(dst, &history[l.txn], l, process[l.txn], i); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

var ednTypes = map[event.Status]string{event.Committed: "ok", event.Aborted: "fail", event.Unknown: "info"}

func appendOperation(dst []byte, r *event.Record, l ednLine, process, index int) ([]byte, error) {
	typ := "invoke"
	if l.done {
		typ = ednTypes[r.Status]
	}
	dst = fmt.Appendf(dst, "{:type :%s, :process %d, :f :txn, :value [", typ, process)
	for k := range r.Ops {
		o := &r.Ops[k]
		if k > 0 {
			dst = append(dst, ' ')
		}
		var err error
		if dst, err = appendMicro(dst, r, o, l.done); err != nil {
			return nil, err
		}
	}
	if r.Flags&event.HasTimes != 0 {
		dst = fmt.Appendf(dst, "], :time %d", l.time)
	} else {
		dst = append(dst, ']')
	}
	return fmt.Appendf(dst, ", :index %d}\n", index), nil
}

func appendMicro(dst []byte, r *event.Record, o *event.RecordOp, answered bool) ([]byte, error) {
	name := o.Kind.String()
	switch {
	case o.Kind == event.Insert:
		name = "w"
	case o.Kind != event.Read && o.Kind != event.Write && o.Kind != event.Append, o.Data.Parts() || o.Data == event.Counter:
		return nil, fmt.Errorf("transaction %s: %s of key %q is not an operation on a list or a register, and edn holds only these", named(r.ID), o.Kind, o.Key)
	case o.Value == "null":
		return nil, fmt.Errorf("transaction %s: key %q holds a null, which edn reads as nothing", named(r.ID), o.Key)
	}
	dst = append(dst, "[:"...)
	dst = append(dst, name...)
	dst = append(dst, ' ')
	if isJSONNumber([]byte(o.Key)) && !strings.ContainsAny(o.Key, ".eE") {
		dst = append(dst, o.Key...)
	} else {
		dst = appendString(dst, []byte(o.Key))
	}
	dst = append(dst, ' ')
	if o.Kind == event.Read && (!answered || o.Flags&event.NotFound != 0) {
		return append(dst, "nil]"...), nil
	}
	dst, err := ednOf(dst, o.Value)
	return append(dst, ']'), err
}
