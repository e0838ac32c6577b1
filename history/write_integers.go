package history

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/isowatch/isowatch/event"
)

// plainOf is a history of registers with integers for keys, values and sessions.
// A read that found nothing found 0.
func plainOf(history []event.Record) (*plain, error) {
	p := &plain{}
	if len(history) == 0 {
		return p, nil
	}
	if !oneSource(history) {
		return nil, errOneSource
	}
	var keys, values, sessions []string
	for i := range history {
		r := &history[i]
		if r.Session != "" {
			sessions = append(sessions, r.Session)
		}
		for k := range r.Ops {
			o := &r.Ops[k]
			if o.Kind != event.Read && o.Kind != event.Write && o.Kind != event.Insert || o.Flags&event.IsArray != 0 ||
				o.Data != event.AnyKind && o.Data != event.Register {
				return nil, fmt.Errorf("transaction %s: %s of key %q is not of a register, and this format holds nothing else", named(r.ID), o.Kind, o.Key)
			}
			keys = append(keys, o.Key)
			if o.Flags&event.NotFound == 0 {
				values = append(values, o.Value)
			}
		}
	}
	key, value := newNames(keys, 0), newNames(values, 1)
	numbers := newNames(sessions, 0)
	counts := observed(history)
	free := int64(0) // for transactions without a session
	for _, s := range sessions {
		free = max(free, numbers.of(s)+1)
	}
	for _, members := range inSessions(history) {
		number := free
		if name := history[members[0]].Session; name != "" {
			number = numbers.of(name)
		} else {
			free++
		}
		session := p.session(number)
		for _, i := range members {
			r := &history[i]
			status := r.Status
			if status == event.Unknown {
				if status = event.Aborted; counts[i] {
					status = event.Committed
				}
			}
			p.begin(session, int64(i)+1, 0, status)
			for k := range r.Ops {
				o := &r.Ops[k]
				x := plainOp{key: key.of(o.Key)}
				if o.Flags&event.NotFound == 0 {
					x.value = value.of(o.Value)
				} else if r.Status == event.Unknown {
					continue // it may not have been answered
				}
				if o.Kind != event.Read {
					x.flags = isWrite
				}
				p.ops = append(p.ops, x)
			}
			p.end()
		}
	}
	return p, nil
}

// observed says which unknown transactions took effect, since one that counts read
// what they wrote.
func observed(history []event.Record) []bool {
	type version struct{ key, value string }
	writers := map[version][]int{}
	counts := make([]bool, len(history))
	var todo []int
	for i := range history {
		if history[i].Status == event.Committed {
			counts[i] = true
			todo = append(todo, i)
		}
		for _, o := range history[i].Ops {
			if history[i].Status != event.Aborted && o.Kind != event.Read {
				v := version{o.Key, o.Value}
				writers[v] = append(writers[v], i)
			}
		}
	}
	for len(todo) > 0 {
		r := &history[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		for _, o := range r.Ops {
			if o.Kind != event.Read || o.Flags&event.NotFound != 0 {
				continue
			}
			for _, w := range writers[version{o.Key, o.Value}] {
				if !counts[w] {
					counts[w] = true
					todo = append(todo, w)
				}
			}
		}
	}
	return counts
}

// appendPolySI writes PolySI's text. An aborted transaction is written only with the writes
// that somebody read, in Plume's form.
func (p *plain) appendPolySI(dst []byte) []byte {
	read := map[keyValue]bool{}
	for i := range p.txns {
		for _, o := range p.opsOf(&p.txns[i]) {
			if t := &p.txns[i]; t.status == event.Committed && o.flags&isWrite == 0 {
				read[keyValue{o.key, o.value}] = true
			}
		}
	}
	for i := range p.txns {
		t := &p.txns[i]
		id := t.id
		if t.status != event.Committed {
			id = abortedWrite
		}
		for _, o := range p.opsOf(t) {
			op := byte('r')
			if o.flags&isWrite != 0 {
				op = 'w'
			}
			if id == abortedWrite && (op == 'r' || !read[keyValue{o.key, o.value}]) {
				continue
			}
			dst = fmt.Appendf(dst, "%c(%d,%d,%d,%d)\n", op, o.key, o.value, p.names[t.session], id)
		}
	}
	return dst
}

// appendDBCop writes dbcop's bincode.
func (p *plain) appendDBCop(dst []byte) []byte {
	lengths := make([]uint64, len(p.names))
	var variables, events uint64
	for i := range p.txns {
		lengths[p.txns[i].session]++
		events = max(events, uint64(p.txns[i].count))
	}
	for i := range p.ops {
		variables = max(variables, uint64(p.ops[i].key)+1)
	}
	longest := uint64(0)
	for _, n := range lengths {
		longest = max(longest, n)
	}
	w := bincodeWriter{dst}
	for _, n := range []uint64{0, uint64(len(p.names)), variables, longest, events} {
		w.u64(n)
	}
	const noTime = "1970-01-01T00:00:00+00:00"
	for _, text := range []string{"isowatch", noTime, noTime} {
		w.u64(uint64(len(text)))
		w.out = append(w.out, text...)
	}
	w.u64(uint64(len(p.names)))
	last := ^uint32(0)
	for i := range p.txns { // session by session
		t := &p.txns[i]
		if t.session != last {
			last = t.session
			w.u64(lengths[last])
		}
		w.u64(uint64(t.count))
		for _, o := range p.opsOf(t) {
			w.flag(o.flags&isWrite != 0)
			w.u64(uint64(o.key))
			w.u64(uint64(o.value))
			w.flag(true)
		}
		w.flag(t.status == event.Committed)
	}
	return w.out
}

type bincodeWriter struct{ out []byte }

func (w *bincodeWriter) u64(u uint64) { w.out = binary.LittleEndian.AppendUint64(w.out, u) }

func (w *bincodeWriter) flag(b bool) {
	if b {
		w.out = append(w.out, 1)
	} else {
		w.out = append(w.out, 0)
	}
}

// named is an id in a message: quoted if it holds what could look like another line.
func named(id string) string {
	if quoted := strconv.Quote(id); quoted != `"`+id+`"` {
		return quoted
	}
	return id
}
