package history

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/isowatch/isowatch/event"
)

// TimeKiller's JSON: an array of
//
//	{"tid", "sid", "sts": {"p", "l"}, "cts": {"p", "l"}, "ops": [{"t": "w"|"r"|"a", "k", "v"}]}
//
// committed transactions with the database's start and commit timestamps, which
// are trusted (contract trust-commit-ts=true). A session's transactions are ordered
// by start timestamp. Keys begin with 0, or with an empty list. Where logical parts
// are used, physical and logical part together are replaced by their rank in the
// file: timestamps are only compared.

// stamp is a timestamp: physical and logical part.
type stamp struct{ p, l int64 }

func compareStamps(a, b stamp) int { return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.l, b.l)) }

type stampedTxn struct {
	session    string
	start, end stamp
	seq        int64
	place      int // in the file
}

// stamps are the timestamps of a file.
type stamps struct {
	txns    []stampedTxn
	ranks   []stamp         // sorted; nil: the physical part is enough
	written map[string]bool // keys to which 0 is written
}

func (r *Reader) readTimeKiller(data []byte) error {
	if r.Decoder == nil {
		r.Decoder = &event.Decoder{}
	}
	r.Contract = "trust-commit-ts=true"
	s := stamps{written: map[string]bool{}}
	n := nodeReader{data: data, json: true}
	if err := n.each(func(m *node) error { return s.add(&n, m) }); err != nil {
		return err
	}
	s.settle()
	e := elleEmitter{Reader: r}
	again := nodeReader{data: data, json: true}
	i, line, counted := 0, int64(1), 0
	return again.each(func(m *node) error {
		for ; counted < m.at; counted++ {
			if data[counted] == '\n' {
				line++
			}
		}
		i++
		if r.Came != nil {
			tid := m.get("tid")
			r.Came("T"+string(tid.name()), event.Position{Partition: uint32(len(r.Batch.Partitions) - 1), Offset: line}, [][]byte{data[m.at:again.i]})
		}
		return e.stamped(&s, &s.txns[i-1], m, line)
	})
}

// add notes when m ran, and to which keys it writes 0.
func (s *stamps) add(n *nodeReader, m *node) error {
	var x stampedTxn
	for _, c := range []struct {
		name string
		to   *stamp
	}{{"sts", &x.start}, {"cts", &x.end}} {
		at := m.get(c.name)
		p, l := at.get("p"), at.get("l")
		var ok, okL bool
		c.to.p, ok = stampPart(&p)
		c.to.l, okL = stampPart(&l)
		if !ok || !okL {
			return n.fail(m.at, "%s is not a timestamp {\"p\", \"l\"} of integers", c.name)
		}
	}
	sid, tid, ops := m.get("sid"), m.get("tid"), m.get("ops")
	if tid.kind == nothing || ops.kind != vector {
		return n.fail(m.at, "a transaction without tid or ops")
	}
	for i := range ops.items {
		o := &ops.items[i]
		t, k, v := o.get("t"), o.get("k"), o.get("v")
		if t.is("w") && v.kind == number && string(v.text) == "0" {
			s.written[string(k.name())] = true
		}
	}
	x.session, x.place = string(sid.name()), len(s.txns)
	if sid.kind == nothing {
		x.session = ""
	}
	s.txns = append(s.txns, x)
	return nil
}

// stampPart reads a number or a string of one; nothing is 0.
func stampPart(n *node) (int64, bool) {
	if n.kind == nothing {
		return 0, true
	}
	if n.kind != number && n.kind != quoted {
		return 0, false
	}
	i, used := leadingInteger(n.text)
	return i, used > 0 && used == len(n.text)
}

// settle numbers the sessions' transactions, and ranks the timestamps if needed.
func (s *stamps) settle() {
	order := make([]*stampedTxn, len(s.txns))
	logical := false
	for i := range s.txns {
		order[i] = &s.txns[i]
		logical = logical || s.txns[i].start.l != 0 || s.txns[i].end.l != 0
	}
	slices.SortFunc(order, func(a, b *stampedTxn) int {
		return cmp.Or(compareStamps(a.start, b.start), cmp.Compare(a.place, b.place))
	})
	seqs := map[string]int64{}
	for _, t := range order {
		t.seq = seqs[t.session]
		seqs[t.session]++
	}
	if !logical {
		return
	}
	for i := range s.txns {
		s.ranks = append(s.ranks, s.txns[i].start, s.txns[i].end)
	}
	slices.SortFunc(s.ranks, compareStamps)
	s.ranks = slices.Compact(s.ranks)
}

func (s *stamps) number(t stamp) int64 {
	if s.ranks == nil {
		return t.p
	}
	i, _ := slices.BinarySearchFunc(s.ranks, t, compareStamps)
	return int64(i)
}

// stamped emits one transaction.
func (e *elleEmitter) stamped(s *stamps, t *stampedTxn, m *node, line int64) error {
	tid := m.get("tid")
	e.buf = append(e.buf[:0], `{"txn":`...)
	e.buf = appendString(e.buf, append([]byte("T"), tid.name()...))
	if t.session != "" {
		e.buf = append(e.buf, `,"session":`...)
		e.buf = appendString(e.buf, []byte(t.session))
		e.buf = append(e.buf, `,"seq":`...)
		e.buf = strconv.AppendInt(e.buf, t.seq, 10)
	}
	e.buf = append(e.buf, `,"start_ts":`...)
	e.buf = strconv.AppendInt(e.buf, s.number(t.start), 10)
	e.buf = append(e.buf, `,"commit_ts":`...)
	e.buf = strconv.AppendInt(e.buf, s.number(t.end), 10)
	e.buf = append(e.buf, `,"status":"committed","ops":[`...)
	e.numOps = 0
	ops := m.get("ops")
	pos := event.Position{Partition: uint32(len(e.Batch.Partitions) - 1), Offset: line}
	for i := range ops.items {
		o := &ops.items[i]
		op, key, value := o.get("t"), o.get("k"), o.get("v")
		name := string(op.text)
		switch {
		case key.kind == nothing:
			name = ""
		case name == "a":
			name = "append"
		case name == "r" && value.kind == number && string(value.text) == "0" && !s.written[string(key.name())]:
			value = node{} // found nothing
		case name != "r" && name != "w":
			name = ""
		}
		if name == "" {
			e.Batch.AddBad(pos, e.buf, "ops["+strconv.Itoa(i)+"] is not r, w or a with a key")
			return e.full()
		}
		e.operation(name, &key)
		e.field("value", &value)
		e.buf = append(e.buf, '}')
	}
	e.buf = append(e.buf, "]}"...)
	e.Decoder.Decode(e.Batch, pos, e.buf)
	return e.full()
}
