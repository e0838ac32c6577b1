package history

import (
	"slices"
	"strconv"

	"github.com/isowatch/isowatch/event"
)

// plain is a history of reads and writes of registers whose keys and values are
// integers, which is all that most checkers read. It is held as a whole, 32 bytes
// an operation, since what a value of 0 means can depend on the last line.
type plain struct {
	txns []plainTxn
	ops  []plainOp
	// initialZero: every key begins with the value 0.
	initialZero bool
	// unwrittenInitial: so may a value be that is read and that nobody wrote.
	unwrittenInitial bool
	initials         map[keyValue]bool // initial versions that the file names
	ranges           []plainRange      // in their order
	// hexIDs: transactions are named by hexadecimal numbers in their files.
	hexIDs bool

	stream *stream // unless nil, takes each transaction

	came    func(id string, pos event.Position, records [][]byte) // see [Reader]
	lines   []byte                                                // of a transaction in a text, where came is set
	firstAt int64                                                 // of these lines

	partition uint32           // of the file being read
	names     []int64          // of sessions, as the file names them
	byName    map[int64]uint32 // index into names
	last      uint32           // session asked for last
}

type plainTxn struct {
	first, count uint32 // ops
	session      uint32
	partition    uint32
	id           int64
	at           int64 // byte or line
	status       event.Status
	isolation    string
}

type plainOp struct {
	key, value int64
	writer     int64 // with ofWriter: the transaction whose value it is
	flags      plainFlags
}

type plainFlags uint8

const (
	isWrite  plainFlags = 1 << iota
	initial             // a read of the initial version
	ofWriter            // a value counts together with its writer
)

// session is the number of the session called name.
func (p *plain) session(name int64) uint32 {
	if len(p.names) > 0 && p.names[p.last] == name {
		return p.last
	}
	if s, ok := p.byName[name]; ok {
		p.last = s
		return s
	}
	if p.byName == nil {
		p.byName = map[int64]uint32{}
	}
	s := uint32(len(p.names))
	p.names = append(p.names, name)
	p.byName[name] = s
	p.last = s
	return s
}

// begin appends a transaction; its operations are appended behind it.
func (p *plain) begin(session uint32, id, at int64, status event.Status) *plainTxn {
	p.txns = append(p.txns, plainTxn{
		first: uint32(len(p.ops)), session: session, partition: p.partition, id: id, at: at, status: status,
	})
	return &p.txns[len(p.txns)-1]
}

// end notes how many operations the last transaction has.
func (p *plain) end() {
	t := &p.txns[len(p.txns)-1]
	t.count = uint32(len(p.ops)) - t.first
	if p.stream != nil {
		p.stream.give(p)
	}
}

// stopped says that nothing more is to be read.
func (p *plain) stopped() bool { return p.stream != nil && p.stream.err != nil }

func (p *plain) opsOf(t *plainTxn) []plainOp { return p.ops[t.first : t.first+t.count] }

// readPlain gives out p, unless reading it failed.
func (r *Reader) readPlain(p *plain, err error) error {
	if err != nil {
		return err
	}
	if reset := p.markInitial(); len(reset) > 0 {
		if err := r.resets(reset); err != nil {
			return err
		}
	}
	seqs := make([]int64, len(p.names))
	for _, i := range p.order() {
		t := &p.txns[i]
		r.plainTxn(p, t, seqs[t.session])
		seqs[t.session]++
		if err := r.full(); err != nil {
			return err
		}
	}
	return nil
}

// resets gives out a transaction that writes 0 to the keys: their initial version
// as one writer among others of the same value.
func (r *Reader) resets(keys []int64) error {
	t := r.begin(event.Position{Partition: uint32(len(r.Batch.Partitions) - 1)}, event.Committed)
	t.ID = r.Batch.AddText("initial")
	t.IDHash = event.HashText(r.Batch.Bytes(t.ID))
	for _, k := range keys {
		r.plainOp(&plainOp{key: k, flags: isWrite})
	}
	t.NumOps = uint32(len(keys))
	return r.full()
}

// order is the order in which transactions are given out. Where the file holds session behind
// session they are interleaved, the same share of each. That is close to the order in which
// they ran, and gives the engine the least to do. Otherwise the file's order stays.
func (p *plain) order() []uint32 {
	order := make([]uint32, len(p.txns))
	lengths := make([]uint64, len(p.names))
	blocks := 0
	for i := range p.txns {
		order[i] = uint32(i)
		s := p.txns[i].session
		if i == 0 || s != p.txns[i-1].session {
			blocks++
		}
		lengths[s]++
	}
	if blocks > len(p.names) {
		return order
	}
	// The share of its session before it, of 2^32, above the index.
	shares := make([]uint64, len(p.txns))
	k := uint64(0)
	for i := range p.txns {
		if i > 0 && p.txns[i].session != p.txns[i-1].session {
			k = 0
		}
		shares[i] = (k<<32/lengths[p.txns[i].session])<<32 | uint64(i)
		k++
	}
	slices.Sort(shares)
	for i, s := range shares {
		order[i] = uint32(s)
	}
	return order
}

func (r *Reader) plainTxn(p *plain, from *plainTxn, seq int64) {
	t := r.begin(event.Position{Partition: from.partition, Offset: from.at}, from.status)
	b := r.Batch
	off := uint32(len(b.Data))
	var session uint32
	b.Data, session = p.appendID(b.Data, from)
	t.Session = event.Span{Off: off + 1, Len: session}
	t.SessionHash = event.HashText(b.Bytes(t.Session))
	t.ID = event.Span{Off: off, Len: uint32(len(b.Data)) - off}
	t.IDHash = event.HashText(b.Bytes(t.ID))
	t.Seq, t.Flags = seq, event.HasSeq
	if from.isolation != "" {
		t.Isolation = b.AddText(from.isolation)
	}
	ops := p.opsOf(from)
	t.NumOps = uint32(len(ops))
	for i := range ops {
		r.plainOp(&ops[i])
	}
}

// appendID appends S<session>.T<id>, which names a transaction, and says how long the session's name in it is.
func (p *plain) appendID(dst []byte, t *plainTxn) (id []byte, session uint32) {
	before := len(dst) + 1
	dst = append(dst, 'S')
	dst = strconv.AppendInt(dst, p.names[t.session], 10)
	session = uint32(len(dst) - before)
	dst = append(dst, '.', 'T')
	if p.hexIDs {
		dst = strconv.AppendInt(dst, t.id, 16)
	} else {
		dst = strconv.AppendInt(dst, t.id, 10)
	}
	if t.id == abortedWrite {
		dst = append(dst, '@')
		dst = strconv.AppendInt(dst, t.at, 10)
	}
	return dst, session
}

func (r *Reader) plainOp(from *plainOp) {
	b := r.Batch
	o := event.Op{Kind: event.Read, Key: r.number(from.key)}
	o.KeyHash = event.HashText(b.Bytes(o.Key))
	if from.flags&isWrite != 0 {
		o.Kind = event.Write
	}
	switch {
	case from.flags&initial != 0:
		o.Flags = event.NotFound
	case from.flags&ofWriter != 0:
		off := len(b.Data)
		b.Data = append(b.Data, '"')
		b.Data = strconv.AppendInt(b.Data, from.writer, 16)
		b.Data = append(b.Data, '.')
		b.Data = strconv.AppendInt(b.Data, from.value, 16)
		b.Data = append(b.Data, '"')
		o.Value = event.Span{Off: uint32(off), Len: uint32(len(b.Data) - off)}
	default:
		o.Value = r.number(from.value)
	}
	if o.Value.Len > 0 {
		o.ValueHash = event.HashText(b.Bytes(o.Value))
	}
	b.Ops = append(b.Ops, o)
}
