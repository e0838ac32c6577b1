package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/ingest/kafka"
	"github.com/isowatch/isowatch/ingest/nats"
	"github.com/isowatch/isowatch/ingest/tail"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/tape"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// Replay reads stored input again and checks it, as [whole.Whole] does with files. It stores nothing
// and leaves a service's store alone.
//
// A range leaves out records, so that nothing may be concluded from the absence of one: it is checked
// under capture=partial, and with --from start=existing. A cycle stays one, since leaving out records
// only takes edges away.
type Replay struct {
	Config config.Replay
	// DeadLetter, unless nil, is told of every record that cannot be decoded.
	DeadLetter func(position, reason string)
	// Progress, unless nil, is told once a second how far it is, or at each step in a file of another checker.
	Progress func(Progress)
	// Doing, unless nil, is told what is done when all is read.
	Doing func(phase string)
	// Patience is how long an input may be out of reach; 0: 15 s.
	Patience time.Duration
	// Format of the files; "": each is recognised.
	Format history.Format
	// FixedContract: Config.Watch.Contract is used even if the format brings a contract of its own.
	FixedContract bool
	// Raws is for how many findings the answer has the records as they came in: an example of each group first.
	Raws int
	Log  *slog.Logger // nil: nothing is logged
}

// Progress of a replay.
type Progress struct {
	Records int64   // read, in the range or not
	Share   float64 // of all that is to be read; 0: not known yet
	Took    time.Duration
}

// Replayed is the result of a replay.
type Replayed struct {
	Report
	Read    int64 // records read
	Outside int64 // of them, outside of the range or of another source
	Untimed int64 // of them, without times and so in no range of time
	Gaps    []string
	// Hidden findings are about other keys than the one asked for.
	Hidden int
	// Closed is the horizon finding that was to be closed; nil: it was not asked
	// for, or Undecided says why it stays open.
	Closed    *finding.Finding
	Undecided string
}

const (
	defaultPatience = 15 * time.Second
	// beyond is how many records in a row must end after the range before the partition has passed it.
	// A few may come from a client whose clock is wrong.
	beyond = 1000
	// overtaken bounds a replay whose range has no end: it reads records stored at most so long after
	// its start. Clocks differ.
	overtaken = time.Minute
)

// Run reads the inputs to the end of the range, or to where they end now. An error
// wraps ErrInput when an input cannot be read.
func (r *Replay) Run(ctx context.Context) (*Replayed, error) {
	p := r.begin()
	defer func() {
		for _, close := range p.closers {
			close()
		}
	}()
	if err := p.open(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	return p.run(ctx)
}

// begin makes a replay without inputs.
func (r *Replay) begin() *replaying {
	p := &replaying{Replay: r, parts: map[string]*replayPart{}, raws: map[string][]finding.Raw{}, groups: map[string]bool{}, began: time.Now(), seen: map[string]bool{}}
	if p.Patience == 0 {
		p.Patience = defaultPatience
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	watch := r.Config.Watch
	if r.Config.Finding != "" && !slices.Contains(watch.Levels, watch.Expect) {
		watch.Levels = append(slices.Clone(watch.Levels), watch.Expect)
		r.Config.Watch.Levels = watch.Levels
	}
	if r.Config.Ranged() {
		watch.Contract.Complete = false
		watch.Contract.Existing = watch.Contract.Existing || r.Config.From.Kind != config.Unbounded
	}
	p.history = whole.NewChecking(&whole.Whole{
		Watch: watch, Bounded: r.Config.Bounded, HideKey: whole.HideKey(watch.ShowValues), DeadLetter: r.DeadLetter, FixedContract: r.FixedContract, Doing: r.Doing,
	})
	p.keeping()
	p.history.Decoder.Source, p.history.Decoder.Only = r.Config.DefaultSource, r.Config.OwnInputs
	p.history.Admit, p.history.Standing = p.admit, p.stand
	if r.Config.Bounded {
		p.history.Replay = p.command()
	}
	return p
}

func (p *replaying) run(ctx context.Context) (*Replayed, error) {
	if err := p.readOther(); err != nil {
		return nil, err
	}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	if c := &p.Config; len(c.Files) > 0 && !c.Ranged() {
		if err := p.recognizer.Fault(); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrInput, p.describe(), err)
		}
	}
	p.history.End(p.lost)
	return p.report(), nil
}

// replaying is a replay at work.
type replaying struct {
	*Replay
	history *whole.Checking
	inputs  []*replayInput
	closers []func()
	from    map[string]ingest.Cursor
	parts   map[string]*replayPart
	began   time.Time
	lost    []window.Gap
	out     Replayed
	seen    map[string]bool // of Config.Txns
	size    int64           // of files, bytes
	// recording is the file of another checker; nil: there is none.
	recording *whole.Recording
	// allEarly: the batch was stored before the range. Bad records in it are outside the range, and so
	// are records of transactions that began before.
	allEarly   bool
	recognizer whole.Recognizer
	tape       *tape.Tape      // the latest messages of brokers; nil: none are kept
	recalled   int             // findings that were looked for on it
	groups     map[string]bool // of findings that have an example on it
	raws       map[string][]finding.Raw
}

// replayInput is a source with the partitions that it has named.
type replayInput struct {
	name   string // the partitions' prefix: "nats:", "kafka:", "file:"
	source ingest.Source
	topics []string // of Kafka: each has at least one partition
	stop   context.CancelFunc
	ended  bool
}

// replayPart is how far a partition is read.
type replayPart struct {
	index   uint32
	input   *replayInput
	to      int64 // offset, exclusive
	after   int   // records in a row that end behind the range
	first   int64 // when its first message was stored
	share   float64
	bytes   int64
	done    bool
	trouble string
	since   time.Time // of the trouble
}

// slack is how far records of one partition may lie apart from the order of their
// ends, ns.
func (p *replaying) slack() int64 {
	w := &p.Config.Watch
	return int64(w.Lateness + w.MaxTransaction)
}

// storedFrom is the earliest time at which a record of the range can have been stored: its beginning,
// less the drift of clocks. A transaction recorded by operations may have begun earlier, by its length.
// If the beginning of the input matters, it is a time before all records, so that removed records are
// noticed. Zero: the input's present beginning.
func (p *replaying) storedFrom() time.Time {
	w := &p.Config.Watch
	switch {
	case p.Config.From.Kind == config.AtTime:
		return time.Unix(0, p.Config.From.Time).Add(-w.MaxTransaction - w.Contract.ClockDrift)
	case p.Config.From.Kind == config.Unbounded && (p.Config.Finding != "" || !w.Contract.Existing):
		return time.Unix(1, 0)
	}
	return time.Time{}
}

func (p *replaying) open() error {
	c := &p.Config
	add := func(name string, source ingest.Source, topics ...string) {
		p.inputs = append(p.inputs, &replayInput{name: name, source: source, topics: topics})
	}
	p.from = map[string]ingest.Cursor{}
	if n := c.NATS; n != nil {
		o := natsBroker(n)
		o.Name, o.Logger = "isowatch-replay", p.Log
		conn, err := brokernats.Connect(o)
		if err != nil {
			return err
		}
		p.closers = append(p.closers, conn.Close)
		source, err := nats.New(nats.Options{Conn: conn, Stream: n.Stream, Subjects: n.Subjects, Logger: p.Log, Since: p.storedFrom()})
		if err != nil {
			return err
		}
		if c.From.Kind == config.AtOffset {
			p.from["nats:"+n.Stream] = ingest.Cursor{Next: max(c.From.Offset, 1)}
		}
		add("nats:", source)
	}
	if k := c.Kafka; k != nil {
		o := kafka.Options{Topics: k.Topics, Logger: p.Log, Broker: kafkaBroker(k)}
		if t := p.storedFrom(); !t.IsZero() {
			o.Start, o.StartTime = kafka.FromTime, t
		}
		source, err := kafka.New(o)
		if err != nil {
			return err
		}
		for partition, offset := range c.From.Offsets {
			p.from[kafka.PartitionName(k.Topics[0], partition)] = ingest.Cursor{Next: offset}
		}
		add("kafka:", source, k.Topics...)
	}
	if len(c.Files) > 0 {
		records, err := p.openFiles()
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return nil
		}
		source, err := tail.New(tail.Options{Globs: records})
		if err != nil {
			return err
		}
		add("file:", source)
	}
	return nil
}

// command is how horizon findings of a bounded replay name their replay.
func (p *replaying) command() string {
	c := &p.Config
	source := cmp.Or(c.DefaultSource, config.DefaultSource)
	var again replayable
	for _, in := range []config.Input{{NATS: c.NATS}, {Kafka: c.Kafka}, {Tail: c.Files}} {
		if in.NATS != nil || in.Kafka != nil || len(in.Tail) > 0 {
			again.inputs = append(again.inputs, config.PlacedInput{Input: in, Source: source, Only: c.OwnInputs})
		}
	}
	watch := c.Watch
	watch.Expect = whole.Greatest(watch.Levels)
	return again.command(source, &watch)
}

// admit takes out of b what is not in the range, and notes what it was to look for.
func (p *replaying) admit(b *event.Batch) {
	c := &p.Config
	if p.allEarly {
		b.Bad = b.Bad[:0]
	}
	b.Marks = slices.DeleteFunc(b.Marks, func(m event.Mark) bool { return c.Source != "" && m.Source != c.Source })
	b.KeepTxns(func(t *event.Txn) bool {
		timed := t.Flags&event.HasTimes != 0
		switch {
		case c.Source != "" && string(b.Bytes(t.Source)) != c.Source:
			p.out.Outside++
			return false
		case !timed && (c.From.Kind == config.AtTime || c.To.Kind == config.AtTime):
			p.out.Untimed++
			return false
		case c.From.Kind == config.AtTime && t.End < c.From.Time, c.To.Kind == config.AtTime && t.Start >= c.To.Time:
			p.out.Outside++
			return false
		}
		if len(c.Txns) > 0 && string(b.Bytes(t.Epoch)) == c.Epoch && string(b.Bytes(t.Source)) == p.source() {
			if id := b.Text(t.ID); slices.Contains(c.Txns, id) {
				p.seen[id] = true
			}
		}
		return true
	})
}

// stand tells a machine, before it takes a step, which partitions there are. Partitions that are not
// read to their end hold its watermark, also when its first step has no record of theirs.
func (p *replaying) stand(m *window.Machine) {
	for _, name := range p.history.Batch.Partitions {
		if p.parts[name].done {
			m.Stand(name, window.Left)
		} else {
			m.Stand(name, window.Behind)
		}
	}
}

func (p *replaying) report() *Replayed {
	r := &p.out
	r.Report = *p.history.Report(p.describe())
	if p.recording != nil {
		r.Numbers = whole.NumbersOf(p.recording.Format)
	}
	if key := p.Config.Key; key != "" {
		other := func(f finding.Finding) bool {
			named := func(e finding.Edge) bool { return e.Key != "" }
			same := func(e finding.Edge) bool { return e.Key == key }
			return slices.ContainsFunc(f.Edges, named) && !slices.ContainsFunc(f.Edges, same)
		}
		n := len(r.Findings)
		r.Findings = slices.DeleteFunc(r.Findings, other)
		r.Hidden = n - len(r.Findings)
	}
	for _, g := range p.lost {
		r.Gaps = append(r.Gaps, fmt.Sprintf("%s from %d to %d: %s", g.Partition, g.From, g.To, g.Reason))
	}
	if p.Config.Finding != "" {
		r.Closed, r.Undecided = p.answer(r)
	}
	r.Raws = p.came(r)
	return r
}

// describe names the inputs.
func (p *replaying) describe() string {
	var names []string
	if n := p.Config.NATS; n != nil {
		names = append(names, "nats:"+n.Stream)
	}
	if k := p.Config.Kafka; k != nil {
		names = append(names, "kafka:"+strings.Join(k.Topics, ","))
	}
	for _, f := range p.Config.Files {
		names = append(names, "file:"+f)
	}
	return strings.Join(names, " ")
}
