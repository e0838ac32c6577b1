package history

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/isowatch/isowatch/event"
)

// Histories of Jepsen, Elle and elle-cli have one map an operation. They are EDN (a stream, a
// vector or a list of maps) or JSON.
//
//	{:type :invoke, :process 0, :f :txn, :value [[:append 5 1] [:r 5 nil]], :time 12, :index 3}
//
// A process completes what it invoked with :ok (it happened), :fail (it did not) or :info
// (nobody knows), or never. The history is in the order of real time (Elle). Times come from
// :time, made to grow by at least 1 ns from line to line. A completion without an invocation
// has no times, since its start is not known. A process is a session. If the process is not a
// number (:nemesis), the operation is not a client's.

// elleOp is an operation of a client, from its invocation to its completion.
type elleOp struct {
	name      string // unless "", it is called so
	number    int64  // else by this number
	again     int64  // behind it, if another operation has the number too; -1 if none has
	process   *elleProcess
	seq       int64
	line      int64
	start     int64 // 0: it was not invoked
	end       int64
	outcome   event.Status // 0: open
	f         node
	key       node     // porcupine's
	invoked   node     // :value of the invocation
	request   []byte   // its text, where that is not in a piece of the file
	completed node     // and of the completion
	refused   bool     // a cas that found another value
	came      [][]byte // its records in the file, where they are asked for
}

// appendID appends what o is called.
func (o *elleOp) appendID(dst []byte) []byte {
	if o.name != "" {
		return append(dst, o.name...)
	}
	dst = strconv.AppendInt(append(dst, 'T'), o.number, 10)
	if o.again >= 0 {
		dst = strconv.AppendInt(append(dst, '@'), o.again, 10)
	}
	return dst
}

// elleProcess is a process.
type elleProcess struct {
	name []byte  // empty: of those who named none
	open *elleOp // what it invoked last, unless that is complete
	seq  int64   // of its next operation
	hash event.Hash
}

// value is the operation's value as far as it is known: the answer, or else the request.
func (o *elleOp) value() *node {
	if o.completed.kind != nothing {
		return &o.completed
	}
	return &o.invoked
}

// elleReader pairs invocations with completions.
type elleReader struct {
	*Reader
	nodes nodeReader
	emit  elleEmitter

	line, counted int // of the byte counted
	time          int64
	ordinal       int64
	lastIndex     int64
	processes     map[string]*elleProcess
	inOrder       []*elleProcess   // in which they first came
	unused        []*elleOp        // memory for the next ones
	hashes        [1000]event.Hash // of the texts of small numbers, once they were met

	// mapped says which workload it is: until then operations wait.
	mapped  bool
	waiting []*elleOp
}

func (r *Reader) readElle(in io.Reader, json bool) error {
	e := newElleReader(r, nil)
	e.nodes.json, e.nodes.pieces = json, pieces{in: in, least: pieceBytes, drop: e.drop}
	if err := e.nodes.each(e.operation); err != nil {
		return err
	}
	e.reach(len(e.nodes.data))
	return e.finish()
}

// timeBefore leaves room for a transaction before the first one.
const timeBefore = 10

func newElleReader(r *Reader, data []byte) *elleReader {
	if r.Decoder == nil {
		r.Decoder = &event.Decoder{}
	}
	return &elleReader{
		Reader: r, nodes: nodeReader{data: data, flat: true}, emit: elleEmitter{Reader: r}, line: 1, time: timeBefore, lastIndex: -1,
		processes: map[string]*elleProcess{},
	}
}

// process is the process of this name.
func (e *elleReader) process(name []byte) *elleProcess {
	p := e.processes[string(name)]
	if p == nil {
		p = &elleProcess{name: bytes.Clone(name), hash: event.HashText(name)}
		e.processes[string(name)] = p
		e.inOrder = append(e.inOrder, p)
	}
	return p
}

// operation takes in one map.
func (e *elleReader) operation(m *node) error {
	typ, process, index := m.get("type"), m.get("process"), m.get("index")
	e.ordinal++
	if process.kind == word || process.kind == quoted && !isJSONNumber(process.text) {
		return nil
	}
	e.reach(m.at)
	e.time++
	time := m.get("time")
	if t, ok := time.integer(); ok {
		e.time = max(e.time, t)
	}
	if err := e.step(&elleStep{
		typ: typ, process: process.text, index: index, f: m.get("f"), key: m.get("key"), value: m.get("value"),
		text: e.nodes.data[m.at:e.nodes.i],
	}); err != nil {
		return err
	}
	return e.settle(m.at)
}

// reach counts the lines before the byte at.
func (e *elleReader) reach(at int) {
	e.line += bytes.Count(e.nodes.data[e.counted:at], []byte{'\n'})
	if e.Used != nil {
		e.Used(at - e.counted)
	}
	e.counted = at
}

// drop notes that the bytes before from are no longer there.
func (e *elleReader) drop(from int) {
	e.reach(from)
	e.counted = 0
}

// elleStep is an invocation or a completion.
type elleStep struct {
	typ, index, f, key, value node
	process                   []byte
	text                      []byte // as it was written
}

// step pairs s. It is done when e.waiting gets the operation that s completed.
func (e *elleReader) step(s *elleStep) (err error) {
	p := e.process(s.process)
	o := p.open
	if s.typ.is("invoke") {
		if o != nil {
			err = e.abandon(o) // it never completed
		}
		o = e.first(p, s)
		o.start, o.invoked = e.time, s.value
		e.keep(o, s)
		p.open = o
		return err
	}
	if p.open = nil; o == nil {
		o = e.first(p, s)
	}
	o.end, o.completed, o.line = e.time, s.value, int64(e.line)
	e.keep(o, s)
	if s.f.kind != nothing {
		o.f = s.f
	}
	switch {
	case s.typ.is("ok"):
		o.outcome = event.Committed
	case s.typ.is("fail"):
		o.outcome = event.Aborted
	case s.typ.is("info"):
		o.outcome = event.Unknown
	}
	if o.outcome != event.Committed || o.completed.kind == nothing {
		o.invoked, err = e.nodes.whole(o.invoked)
	}
	e.waiting = append(e.waiting, o)
	return err
}

// keep notes a record of o, where records are asked for.
func (e *elleReader) keep(o *elleOp, s *elleStep) {
	if e.Came != nil {
		o.came = append(o.came, s.text)
	}
}

// first is a new operation of p, which s is the first to speak of.
func (e *elleReader) first(p *elleProcess, s *elleStep) *elleOp {
	index, numbered := s.index.integer()
	o := e.begin(p, index, numbered)
	o.f, o.key = s.f, s.key
	return o
}

// begin is a new operation of p. index is the number of its first record, if that is numbered.
func (e *elleReader) begin(p *elleProcess, index int64, numbered bool) (o *elleOp) {
	if n := len(e.unused); n > 0 {
		o, e.unused = e.unused[n-1], e.unused[:n-1]
		*o = elleOp{request: o.request[:0]}
	} else {
		o = &elleOp{}
	}
	o.process, o.line, o.number, o.again = p, int64(e.line), index, -1
	switch {
	case !numbered:
		o.number = e.ordinal - 1
	case index <= e.lastIndex:
		o.again = e.ordinal - 1 // the file numbers it again
	}
	e.lastIndex = max(e.lastIndex, o.number)
	o.seq = p.seq
	p.seq++
	return o
}

func (e *elleReader) abandon(o *elleOp) (err error) {
	o.outcome, o.end = event.Unknown, e.time
	o.invoked, err = e.nodes.whole(o.invoked)
	e.waiting = append(e.waiting, o)
	return err
}

// settle gives out what has completed, once it is known what kind of history it is.
func (e *elleReader) settle(at int) error {
	for _, o := range e.waiting {
		if o.outcome == 0 {
			return e.nodes.fail(at, "the type is not one of :invoke, :ok, :fail, :info")
		}
	}
	if !e.mapped {
		if len(e.waiting) == 0 || !e.isTransactional() {
			return nil // a workload is known by all of its operations
		}
		e.mapped = true
		e.emit.put = e.emit.transaction
		if e.nodes.lazy = !e.nodes.json; e.nodes.lazy && e.Came == nil && e.Decoder.Plain() {
			e.nodes.plain = e.plain
		}
	}
	return e.give()
}

// isTransactional says whether the latest operation is made of micro-operations.
func (e *elleReader) isTransactional() bool {
	o := e.waiting[len(e.waiting)-1]
	return isMicroOps(&o.completed) || isMicroOps(&o.invoked) || o.f.is("txn")
}

func isMicroOps(n *node) bool {
	if n.kind != vector || len(n.items) == 0 {
		return false
	}
	first := &n.items[0]
	return first.kind == vector && len(first.items) >= 2 && (first.items[0].kind == word || first.items[0].kind == quoted)
}

// give emits what waits.
func (e *elleReader) give() error {
	for _, o := range e.waiting {
		if err := e.emit.op(o); err != nil {
			return err
		}
	}
	e.waiting = e.waiting[:0]
	return nil
}

// finish gives out the rest; what is open will never complete.
func (e *elleReader) finish() error {
	e.time++
	for _, p := range e.inOrder {
		if p.open != nil {
			if err := e.abandon(p.open); err != nil {
				return err
			}
		}
	}
	if !e.mapped {
		if err := e.emit.workload(e.waiting); err != nil {
			return err
		}
	}
	return e.give()
}

// elleEmitter writes operations as records, and has them decoded.
type elleEmitter struct {
	*Reader
	buf     []byte
	numOps  int
	put     func(o *elleOp) error // appends the operations of o
	reason  string                // why put cannot read o
	regKeys bool                  // values of a register are [key value]
}

var errUnreadable = errors.New("unreadable")

// op emits o.
func (e *elleEmitter) op(o *elleOp) error {
	e.buf = append(e.buf[:0], `{"txn":`...)
	e.buf = append(o.appendID(append(e.buf, '"')), '"')
	if o.process != nil && len(o.process.name) > 0 {
		e.buf = append(e.buf, `,"session":`...)
		e.buf = appendString(e.buf, o.process.name)
		e.buf = append(e.buf, `,"seq":`...)
		e.buf = strconv.AppendInt(e.buf, o.seq, 10)
	}
	if o.start > 0 {
		e.times(o.start, o.end)
	}
	e.buf = append(e.buf, `,"status":"`...)
	at := len(e.buf)
	e.buf = append(e.buf, o.outcome.String()...)
	e.buf = append(e.buf, `","ops":[`...)
	e.numOps = 0
	switch err := e.put(o); {
	case errors.Is(err, errUnreadable):
		pos := e.position(o)
		e.Batch.AddBad(pos, e.buf[:at], e.reason)
		return e.full()
	case err != nil:
		return err
	}
	e.buf = append(e.buf, "]}"...)
	e.Decoder.Decode(e.Batch, e.position(o), e.buf)
	if e.Came != nil {
		e.Came(string(o.appendID(nil)), e.position(o), o.came)
	}
	return e.full()
}

func (e *elleEmitter) position(o *elleOp) event.Position {
	return event.Position{Partition: uint32(len(e.Batch.Partitions) - 1), Offset: o.line}
}

func (e *elleEmitter) times(start, end int64) {
	e.buf = append(e.buf, `,"start":`...)
	e.buf = strconv.AppendInt(e.buf, start, 10)
	e.buf = append(e.buf, `,"end":`...)
	e.buf = strconv.AppendInt(e.buf, end, 10)
}

// unreadable makes the operation a dead letter.
func (e *elleEmitter) unreadable(reason string) error {
	e.reason = reason
	return errUnreadable
}

// operation begins an operation of the record; its other fields follow, then "}".
func (e *elleEmitter) operation(op string, key *node) {
	e.named(op, key.name())
}

func (e *elleEmitter) named(op string, key []byte) {
	if e.numOps > 0 {
		e.buf = append(e.buf, ',')
	}
	e.numOps++
	e.buf = append(e.buf, `{"op":"`...)
	e.buf = append(e.buf, op...)
	e.buf = append(e.buf, `","key":`...)
	e.buf = appendString(e.buf, key)
}

func (e *elleEmitter) field(name string, value *node) {
	e.buf = append(e.buf, ',', '"')
	e.buf = append(e.buf, name...)
	e.buf = append(e.buf, '"', ':')
	e.buf = value.appendJSON(e.buf)
}

// transaction appends the micro-operations of o.
func (e *elleEmitter) transaction(o *elleOp) error {
	value := o.value()
	if o.outcome != event.Committed && !isMicroOps(value) {
		value = &o.invoked // what failed may say why in place of its operations
	}
	if value.kind == nothing && o.outcome != event.Committed {
		return nil
	}
	if value.kind != vector {
		return e.unreadable("the value is not a vector of operations")
	}
	if value.flat && o.outcome == event.Committed {
		return e.unreadable("a micro-operation is not [f key value]")
	}
	for i := range value.items {
		m := &value.items[i]
		if m.kind != vector || len(m.items) < 2 {
			if o.outcome != event.Committed {
				continue
			}
			return e.unreadable("a micro-operation is not [f key value]")
		}
		if err := e.micro(o, m); err != nil {
			return err
		}
	}
	return nil
}

func (e *elleEmitter) micro(o *elleOp, m *node) error {
	f, key, value := &m.items[0], &m.items[1], &node{}
	if len(m.items) > 2 {
		value = &m.items[2]
	}
	switch {
	case f.is("r"):
		if value.kind == nothing && o.outcome != event.Committed {
			return nil // it was not answered
		}
		e.operation("r", key)
		if value.kind == set {
			e.buf = append(e.buf, `,"kind":"set"`...)
		}
		e.field("value", value)
	case f.is("w"), f.is("append"):
		e.operation(string(f.text), key)
		e.field("value", value)
	default:
		return e.unreadable("micro-operation " + string(f.name()) + " is not one of r, w, append")
	}
	e.buf = append(e.buf, '}')
	return nil
}
