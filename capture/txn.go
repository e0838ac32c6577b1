package capture

import (
	"cmp"
	"context"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/event/record"
)

// Begin says what is known of a transaction when it begins. All fields may be left
// out.
type Begin struct {
	Session   *Session // who runs it; nil: nobody that does one thing after the other
	Isolation string   // the level that is asked for, in SQL's words or Isowatch's
	Name      string   // the transaction's template, such as "checkout", for grouping
	TraceID   string   // for links; 32 zeros are none, as in OpenTelemetry
	Stale     bool     // it asks for old data: AS OF, a read of a follower
	// Labels are names and values of your own, 16 of at most 256 bytes. One means
	// something: endpoint is the server that runs the transaction, a replica or a node.
	Labels map[string]string
}

// beginKey is the context's key for a Begin.
type beginKey struct{}

// WithBegin gives ctx what a transaction says that begins with it through database/sql or pgx: its name,
// its trace id, its labels. A statement outside of a transaction says it too, where it is one by itself.
//
// The Session of b goes before [WithSession]. It counts for its own recorder only. The Isolation of b goes
// before the connection's usual one, and a level that the application asks for goes before both.
// An empty field says nothing: it stays as a WithBegin before has set it. Labels of both count.
// They are copied, so several goroutines may use the context, and the caller may change the map.
func WithBegin(ctx context.Context, b Begin) context.Context {
	before, _ := ctx.Value(beginKey{}).(Begin)
	labels := maps.Clone(b.Labels)
	for name, value := range before.Labels {
		if _, ok := labels[name]; !ok && labels != nil {
			labels[name] = value
		}
	}
	if labels == nil {
		labels = before.Labels
	}
	b = Begin{
		Session: cmp.Or(b.Session, before.Session), Isolation: cmp.Or(b.Isolation, before.Isolation), Name: cmp.Or(b.Name, before.Name),
		TraceID: cmp.Or(b.TraceID, before.TraceID), Stale: b.Stale || before.Stale, Labels: labels,
	}
	return context.WithValue(ctx, beginKey{}, b)
}

// BeginWith begins a transaction as [WithBegin] and [WithSession] say, at this isolation level. If level is empty,
// the one of WithBegin counts, and without that the usual one. The packages that follow a driver call it.
// It returns nil if the recorder is nil.
func (r *Recorder) BeginWith(ctx context.Context, level, usual string) *Txn {
	b, _ := ctx.Value(beginKey{}).(Begin)
	if b.Session == nil || b.Session.owner != r {
		b.Session = r.SessionFrom(ctx)
	}
	b.Isolation = cmp.Or(level, b.Isolation, usual)
	return r.Begin(b)
}

// noTrace is the trace id that OpenTelemetry gives for a context without a span.
const noTrace = "00000000000000000000000000000000"

// Txn is a transaction that runs. A retry is a transaction of its own. Its methods
// may be called by several goroutines; what they tell is in the order of the calls.
//
// Tell only what was answered. Leave out a read that failed or got no answer. Tell a write that
// may have happened: the outcome says the rest. A value is anything that encoding/json takes.
// It stands for the value that the database holds. []byte is text like a string, a time is told
// in UTC, and a driver.Valuer by its value. nil is a stored null.
type Txn struct {
	mu      sync.Mutex
	r       *Recorder
	session *Session
	head    record.Record // without operations
	began   time.Time

	scratch *scratch
	texts   strings.Builder // values as an operation names them
	ops     int
	left    bool // there were operations on keys outside of the sample
	broken  brokenBy
	ended   bool
	saved   []savepoint
	writer  string // see SetWriter
	ordinal int64  // the number in its id; 0: it has none yet
}

type brokenBy uint8

const (
	intact brokenBy = iota
	tooLong
	noJSON
)

// Begin begins a transaction. Call it before the first statement is sent: its start
// is now. A Txn must be ended.
func (r *Recorder) Begin(b Begin) *Txn {
	if r == nil {
		return nil
	}
	t := &Txn{r: r, began: time.Now(), scratch: r.scratch()}
	h := &t.head
	h.Source, h.Epoch, h.Flags = r.opt.Source, r.opt.Epoch, record.HasTimes
	h.Name, h.Isolation, h.TraceID = validText(b.Name), validText(b.Isolation), validText(b.TraceID)
	h.Labels = validLabels(b.Labels)
	if h.TraceID == noTrace {
		h.TraceID = ""
	}
	if b.Stale {
		h.Flags |= record.Stale
	}
	if b.Session.enter(r) {
		t.session = b.Session
	}
	r.stats.open.Add(1)
	return t
}

// ID is the transaction's id in the records and in findings, such as "aysh7y5nvxmyj-20", "" for nil. It never
// changes, and may be asked for at any time, after End too. Several goroutines may ask. A transaction that has
// no record has an id too, which no finding names. It did not begin, or sampling left it out, or it was dropped.
func (t *Txn) ID() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.appendID(nil))
}

// appendID appends the id.
func (t *Txn) appendID(dst []byte) []byte {
	if t.ordinal == 0 {
		t.ordinal = t.r.txns.Add(1)
	}
	return strconv.AppendInt(append(append(dst, t.r.instance...), '-'), t.ordinal, 10)
}

// SetStartTS tells the database's own timestamp of the beginning.
func (t *Txn) SetStartTS(ts int64) {
	t.do(func() { t.head.StartTS, t.head.Flags = ts, t.head.Flags|record.HasStartTS })
}

// SetCommitTS tells the database's own timestamp of the commit.
func (t *Txn) SetCommitTS(ts int64) {
	t.do(func() { t.head.CommitTS, t.head.Flags = ts, t.head.Flags|record.HasCommitTS })
}

// SetIsolation tells the level that is asked for, where it is known only now.
func (t *Txn) SetIsolation(level string) {
	t.do(func() { t.head.Isolation = validText(level) })
}

// do calls f while the transaction runs.
func (t *Txn) do(f func()) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		f()
	}
}

// End ends the transaction with its outcome, and hands over its record. Calls after it have no
// effect, a second End included.
func (t *Txn) End(s Status) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	t.ended = true
	took := time.Since(t.began) // by the monotonic clock, so that end is not before start
	t.head.Status = s
	if s < Committed || s > Unknown {
		t.head.Status = Unknown
	}
	t.head.Start = t.began.UnixNano()
	t.head.End = t.head.Start + int64(took)
	t.r.end(t)
	t.scratch = nil
}

// Read tells that the key was read and held value; nil is a stored null.
func (t *Txn) Read(key string, value any, d ...Detail) {
	t.one(record.Read, record.AnyKind, key, value, d)
}

// ReadNothing tells that the key was looked for and not there.
func (t *Txn) ReadNothing(key string, d ...Detail) {
	t.op(key, d, func(o *record.Op) { o.Kind, o.Flags = record.Read, record.NotFound })
}

// Write tells that value was written to the key, whether it was there or not: an
// update, an upsert. Use [Txn.Insert] where the statement creates the key.
func (t *Txn) Write(key string, value any, d ...Detail) {
	t.one(record.Write, record.AnyKind, key, value, d)
}

// Insert tells that the key was created with value.
func (t *Txn) Insert(key string, value any, d ...Detail) {
	t.one(record.Insert, record.AnyKind, key, value, d)
}

// Delete tells that the key was deleted.
func (t *Txn) Delete(key string, d ...Detail) {
	t.op(key, d, func(o *record.Op) { o.Kind = record.Delete })
}

// Append tells that elem was put at the end of the list.
func (t *Txn) Append(key string, elem any, d ...Detail) {
	t.one(record.Append, record.AnyKind, key, elem, d)
}

// ReadList tells that the list was read, with all its elements in order.
func (t *Txn) ReadList(key string, elems []any, d ...Detail) {
	t.array(record.List, key, elems, d)
}

// Add tells that elem was put into the set.
func (t *Txn) Add(key string, elem any, d ...Detail) {
	t.one(record.Add, record.AnyKind, key, elem, d)
}

// Remove tells that elem was taken out of the set.
func (t *Txn) Remove(key string, elem any, d ...Detail) {
	t.one(record.Remove, record.AnyKind, key, elem, d)
}

// ReadSet tells that the set was read, with all its elements.
func (t *Txn) ReadSet(key string, elems []any, d ...Detail) {
	t.array(record.Set, key, elems, d)
}

// Inc tells that n was added to the counter. Beyond 2^53 its sums are not checked.
func (t *Txn) Inc(key string, n int64, d ...Detail) { t.number(record.Inc, key, n, d) }

// ReadCounter tells that the counter was read and stood at n.
func (t *Txn) ReadCounter(key string, n int64, d ...Detail) { t.number(record.Read, key, n, d) }

// CAS tells of a compare-and-set: value was to replace expected, and did if success.
// nil in expected says that the key was not to be there. [Seen] tells what one that
// failed found.
func (t *Txn) CAS(key string, expected, value any, success bool, d ...Detail) {
	t.op(key, d, func(o *record.Op) {
		o.Kind, o.Expected, o.Value = record.CAS, t.value(expected), t.value(value)
		if success {
			o.Flags = record.Success
		}
	})
}

// Elements are the elements of a slice as [Txn.ReadList] and [Txn.ReadSet] take them.
func Elements[E any](elems []E) []any {
	all := make([]any, len(elems))
	for i, e := range elems {
		all[i] = e
	}
	return all
}

// one tells of an operation with one value.
func (t *Txn) one(kind record.OpKind, data record.DataKind, key string, value any, d []Detail) {
	t.op(key, d, func(o *record.Op) {
		o.Kind, o.Data, o.Value = kind, data, t.value(value)
		if kind == record.Read && o.Value != "" && o.Value[0] == '[' {
			o.Data = record.Register // an array that is read is taken for a list otherwise
		}
	})
}

func (t *Txn) array(data record.DataKind, key string, elems []any, d []Detail) {
	t.op(key, d, func(o *record.Op) {
		o.Kind, o.Data, o.Value = record.Read, data, t.values(elems)
	})
}

func (t *Txn) number(kind record.OpKind, key string, n int64, d []Detail) {
	t.op(key, d, func(o *record.Op) {
		o.Kind, o.Data, o.Value = kind, record.Counter, t.decimal(n)
	})
}

// op tells of an operation on the key, which fill fills in, if the key is sampled.
func (t *Txn) op(key string, d []Detail, fill func(o *record.Op)) {
	t.do(func() {
		if !t.r.opt.samples(key) {
			t.left = true
			return
		}
		o := &t.scratch.op
		*o = record.Op{Key: t.key(key)}
		fill(o)
		t.apply(o, d)
		t.add(o)
	})
}

// add encodes o behind the operations so far.
func (t *Txn) add(o *record.Op) {
	s := t.scratch
	if t.ops++; t.ops > record.MaxOps || len(s.ops)+t.texts.Len() > t.r.opt.MaxRecord {
		t.fail(tooLong)
	}
	if t.broken != intact {
		return
	}
	if len(s.ops) > 0 {
		s.ops = append(s.ops, ',')
	}
	s.ops = record.AppendOp(s.ops, o)
}

// fail notes why there will be no record, and lets go of what was told.
func (t *Txn) fail(by brokenBy) {
	if t.broken == intact {
		t.broken = by
	}
	t.scratch.ops, t.texts = t.scratch.ops[:0], strings.Builder{}
}

// keep is b as a string that lasts as long as the transaction.
func (t *Txn) keep(b []byte) string {
	if t.texts.Cap() == 0 {
		t.texts.Grow(max(256, len(b)))
	}
	from := t.texts.Len()
	t.texts.Write(b)
	return t.texts.String()[from:]
}

// decimal is n in decimal.
func (t *Txn) decimal(n int64) string {
	s := t.scratch
	s.text = strconv.AppendInt(s.text[:0], n, 10)
	return t.keep(s.text)
}

// key is the key as the record has it.
func (t *Txn) key(key string) string {
	key = validText(key)
	if !t.r.opt.HashedKeys {
		return key
	}
	table := strings.IndexByte(key, '/') + 1
	s := t.scratch
	s.text = append(s.text[:0], key...)
	s.out = s.appendHash(append(s.out[:0], key[:table]...), s.text)
	return t.keep(s.out)
}

// value is v as the record has it: canonical JSON, hashed unless values are plain.
func (t *Txn) value(v any) string {
	s := t.scratch
	s.out = t.appendValue(s.out[:0], v)
	return t.keep(s.out)
}

// values is the array of elems as the record has it.
func (t *Txn) values(elems []any) string {
	s := t.scratch
	out := append(s.out[:0], '[')
	for i, e := range elems {
		if i > 0 {
			out = append(out, ',')
		}
		if out = t.appendValue(out, e); len(out) > t.r.opt.MaxRecord {
			t.fail(tooLong)
			break
		}
	}
	s.out = append(out, ']')
	return t.keep(s.out)
}

// appendValue appends v as the record has it. A null stays one.
func (t *Txn) appendValue(dst []byte, v any) []byte {
	s := t.scratch
	var err error
	if s.text, err = appendValue(s.text[:0], v, t.r.opt.PlainValues); err != nil {
		t.fail(noJSON)
		return append(dst, "null"...)
	}
	if t.r.opt.PlainValues || string(s.text) == "null" {
		return append(dst, s.text...)
	}
	dst = s.appendHash(append(dst, '"'), s.text)
	return append(dst, '"')
}
