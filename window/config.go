package window

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/isowatch/isowatch/docs"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Contract is the declaration of a source's operator about its capture. It decides what the
// absence of a record proves. The zero Contract promises least.
type Contract struct {
	Complete           bool          // capture: complete
	Existing           bool          // start: existing
	UnmonitoredWriters bool          // unmonitored-writers: yes
	DeletesUnseen      bool          // deletes: unseen
	ByVersion          bool          // value-identity: version
	Observed           bool          // value-identity: observed; neither: unique
	NumericVersions    bool          // version-order: numeric; versions are then told by their texts as well
	TrustCommitTS      bool          // trust-commit-ts: true
	SequentialKeys     bool          // sequential-keys: true
	LinearizableKeys   bool          // linearizable-keys: true
	IgnoreIsolation    bool          // isolation: ignore; else each transaction is promised what it asked for
	Begins             bool          // begins: recorded; a transaction's begin record is sent when it begins
	ClosedSessions     bool          // sessions: closed; every transaction is of one of Config.Sessions
	ClockDrift         time.Duration // between any two clients, and between them and the monitor
	// Settled, with Existing: the data that existed were there before every transaction. So it
	// is in a history that is recorded from its first transaction on, without the initial load.
	Settled bool
}

// String is the contract as it is declared, without the keys that a machine does not know.
func (c Contract) String() string {
	text := func(is bool, no, yes string) string {
		if is {
			return yes
		}
		return no
	}
	return fmt.Sprintf(
		"capture=%s,start=%s,unmonitored-writers=%s,deletes=%s,value-identity=%s,version-order=%s,trust-commit-ts=%t,sequential-keys=%t,linearizable-keys=%t,isolation=%s,begins=%s,sessions=%s,clock-drift=%v",
		text(c.Complete, "partial", "complete"),
		text(c.Existing, "empty", "existing"),
		text(c.UnmonitoredWriters, "no", "yes"),
		text(c.DeletesUnseen, "recorded", "unseen"),
		c.identity(),
		text(c.NumericVersions, "none", "numeric"),
		c.TrustCommitTS,
		c.SequentialKeys,
		c.LinearizableKeys,
		text(c.IgnoreIsolation, "respect", "ignore"),
		text(c.Begins, "unrecorded", "recorded"),
		text(c.ClosedSessions, "open", "closed"),
		c.ClockDrift,
	)
}

// identity says what tells the versions of a register from each other.
func (c Contract) identity() string {
	switch {
	case c.ByVersion:
		return "version"
	case c.Observed:
		return "observed"
	}
	return "unique"
}

// Config is the configuration of a machine. [Config.WithDefaults] fills zeros.
type Config struct {
	Source string
	Levels []isolation.Level // watched; default isolation.Watched
	// Named says that Levels were asked for by name: one that the records cannot
	// decide is unknown. Otherwise it has no verdict.
	Named  bool
	Expect isolation.Level // what the database promises; default serializable
	// Asking: Levels are asked for, and none is expected of the source: what transactions
	// asked for is then not weaker than anything.
	Asking bool
	// Product is the database's, for the SQL names of levels that transactions ask
	// for; "" if it is not known.
	Product string
	// Setting is the setting that named Expect, such as postgresql/repeatable-read: findings
	// name causes that are likely there. "" if Expect was named as a level.
	Setting string
	// Rules are the product's rules at the setting that named Expect.
	Rules    isolation.Rules
	Contract Contract
	// Patterns are named ones of keys, under value-identity: observed.
	Patterns []string
	// Sessions are all there are, under sessions: closed.
	Sessions []string

	// Hide is a secret. With it, texts and edges of findings have hashes in place of values. Their
	// history keeps the values. "": all is shown.
	Hide string `json:",omitempty"`

	// Unbounded keeps everything and decides at the end of the input: whole
	// histories, exactly. Window and Lateness are then unused.
	Unbounded bool
	// Untold leaves the texts of cycles in whole histories out until [Machine.Tell] asks for them.
	Untold bool
	// Twice notes values that two transactions wrote, for [Machine.WrittenTwice].
	Twice bool `json:",omitempty"`
	// Window covers the longest transaction and the oldest snapshot that the
	// database serves. Default 60 s; Zero means a window of nothing.
	Window Span
	// Lateness is how far behind the latest one an event may arrive. Default 5 s.
	Lateness Span
	// WindowTxns is the window of sources without times, in transactions.
	// Default 100,000.
	WindowTxns int64
	MaxTxn     time.Duration // longest transaction; default 30 s
	Idle       time.Duration // a partition that is silent for longer holds nothing back; default 10 s
	Pane       time.Duration // default 10 s
	LiveCap    int           // live transactions; default 1,000,000
	// KeyCap is how many keys, and how many sessions, stay in memory when they have gone cold.
	// Beyond it they go out in Effects.Puts, and a driver must answer Needs. 0 keeps all.
	KeyCap int
	// Memory bounds the size of the state, bytes: see memory.go. 0 is any amount. A driver that
	// keeps several machines divides the memory among them.
	Memory int64 `json:",omitempty"`
	// Clamp bounds event times by the tick plus the clock drift. Off for whole
	// histories.
	Clamp bool
	// Replay is the beginning of the command that a horizon finding names: program,
	// input and settings. Source, range and finding are put behind it. "" leaves the
	// command out, for an input that cannot be read again.
	Replay string
	// Data is the folder that findings are stored in: what to do about one names a command
	// on it. "" is nowhere.
	Data string
	// SearchBudget is how many edges a search for a witness may look at; 0 is
	// the default of isolation.Searcher.
	SearchBudget int
	// Verify says why a witness is not a contradiction; a finding that it refuses is not
	// reported. nil is [verify.Verify].
	Verify func(*finding.Witness) error `json:"-"`
	// Advise gives the text of a finding on likely causes and on what to do. nil means [docs.AdviceOn].
	Advise func(anomaly string, e docs.Expected) docs.Advice `json:"-"`
	// Deciding, unless nil, is told of each level at which an order is searched for: that may take long.
	Deciding func(isolation.Level) `json:"-"`
}

// deciding tells that an order is searched for at the level.
func (c *Config) deciding(l isolation.Level) {
	if c.Deciding != nil {
		c.Deciding(l)
	}
}

// Span is a duration for which zero can be meant.
type Span struct {
	D   time.Duration
	Set bool
}

// For is the Span d.
func For(d time.Duration) Span { return Span{d, true} }

// WithDefaults fills in what is zero.
func (c Config) WithDefaults() Config {
	if c.Source == "" {
		c.Source = "default"
	}
	if len(c.Levels) == 0 {
		c.Levels = isolation.Watched()
	}
	if slices.Contains(c.Levels, linearizable) && !c.Unbounded &&
		!slices.ContainsFunc(c.Levels, func(l isolation.Level) bool { return l.Underlying().Implies(isolation.SnapshotIsolation) }) {
		c.Levels = append(slices.Clone(c.Levels), isolation.Level{Base: isolation.Serializable}) // whose order says what may be forgotten
	}
	if c.Expect == (isolation.Level{}) {
		c.Expect = isolation.Level{Base: isolation.Serializable}
	}
	if !c.Window.Set {
		c.Window = For(60 * time.Second)
	}
	if !c.Lateness.Set {
		c.Lateness = For(5 * time.Second)
	}
	if c.WindowTxns == 0 {
		c.WindowTxns = 100_000
	}
	if c.MaxTxn == 0 {
		c.MaxTxn = 30 * time.Second
	}
	if c.Idle == 0 {
		c.Idle = 10 * time.Second
	}
	if c.Pane == 0 {
		c.Pane = 10 * time.Second
	}
	if c.LiveCap == 0 {
		c.LiveCap = 1_000_000
	}
	if c.Advise == nil {
		c.Advise = docs.AdviceOn
	}
	return c
}

// plainConfig is a Config without methods.
type plainConfig Config

// configJSON is the persisted form of a Config: levels by name, durations in ns.
type configJSON struct {
	Levels []string
	Expect string
	*plainConfig
}

// MarshalJSON implements [json.Marshaler].
func (c Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(configJSON{isolation.LevelNames(c.Levels), c.Expect.String(), (*plainConfig)(&c)})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Config) UnmarshalJSON(text []byte) (err error) {
	x := configJSON{plainConfig: (*plainConfig)(c)}
	if err = json.Unmarshal(text, &x); err != nil {
		return err
	}
	if c.Levels, err = parseAll(x.Levels); err != nil {
		return err
	}
	c.Expect, err = isolation.ParseLevel(x.Expect)
	return err
}

// Config is the machine's present configuration.
func (m *Machine) Config() Config { return m.cfg }

// Following is the configuration that c gives when it follows the machine's own,
// in the middle of a stream, with its defaults filled in.
//
// Panes keep their length, since the length tells which pane a time belongs to. The contract can only
// become weaker. It speaks of all records, and a promise that was missing at the beginning does not
// hold for the whole.
func (m *Machine) Following(c Config) (Config, error) {
	c = c.WithDefaults()
	c.Source, c.Pane = m.cfg.Source, m.cfg.Pane
	c.Contract = c.Contract.weakerOf(m.cfg.Contract)
	asked := c.Levels
	c.Levels = slices.DeleteFunc(slices.Clone(m.cfg.Levels), func(l isolation.Level) bool { return !slices.Contains(asked, l) })
	for _, l := range asked {
		if !slices.Contains(c.Levels, l) {
			c.Levels = append(c.Levels, l)
		}
	}
	if err := m.saturated.canChangeLevels(c.Levels); err != nil {
		return c, fmt.Errorf("source %s: %w", m.cfg.Source, err)
	}
	return c, nil
}

// weakerOf promises only what both contracts promise.
func (c Contract) weakerOf(d Contract) Contract {
	c.Complete = c.Complete && d.Complete
	c.Existing = c.Existing || d.Existing
	c.UnmonitoredWriters = c.UnmonitoredWriters || d.UnmonitoredWriters
	c.DeletesUnseen = c.DeletesUnseen || d.DeletesUnseen
	c.Settled = c.Settled && d.Settled
	c.Begins, c.ClosedSessions = c.Begins && d.Begins, c.ClosedSessions && d.ClosedSessions
	// How versions are told from each other, and ordered, stays as the folder began.
	c.ByVersion, c.Observed, c.NumericVersions, c.TrustCommitTS = d.ByVersion, d.Observed, d.NumericVersions, d.TrustCommitTS
	c.SequentialKeys, c.LinearizableKeys = d.SequentialKeys, d.LinearizableKeys
	return c
}

// Configure lets c take effect from the next step on, as [Machine.Following] has it.
func (m *Machine) Configure(c Config) error {
	next, err := m.Following(c)
	if err != nil {
		return err
	}
	m.cfg = next
	sessions := closeSessions(&next)
	sessions.take(m.clock.closedSessions)
	m.clock.closedSessions = sessions
	m.levelChanges.due = !slices.Equal(next.Levels, m.levelChanges.watched)
	m.infer.SetOptions(m.saturated.inferOptions())
	m.limitMemory()
	m.finder.searcher.Untracked = m.asking.tracking()
	return nil
}

// inferOptions are the options of the machine's inference.
func (f *saturated) inferOptions() infer.Options {
	o := f.cfg.inferOptions()
	o.Linear = slices.Contains(f.levelChanges.watched, linearizable)
	o.RealTime = f.realTime
	if !f.on { // what is forced is found from all edges
		o.Labels = f.follows
	}
	return o
}

func (c Config) inferOptions() infer.Options {
	return infer.Options{
		Complete: c.Contract.Complete, Existing: c.Contract.Existing,
		UnmonitoredWriters: c.Contract.UnmonitoredWriters, DeletesUnseen: c.Contract.DeletesUnseen,
		Whole:           c.Unbounded,
		ByVersion:       c.Contract.ByVersion || c.Contract.NumericVersions,
		Rows:            c.Rules.Rows,
		Tracked:         c.Rules.Tracked,
		Observed:        c.Contract.Observed && !c.Contract.ByVersion && !c.Contract.NumericVersions,
		NumericVersions: c.Contract.NumericVersions, TrustCommitTS: c.Contract.TrustCommitTS,
		SequentialKeys: c.Contract.SequentialKeys, LinearizableKeys: c.Contract.LinearizableKeys,
		AskedAlike: c.Contract.IgnoreIsolation,
		Linear:     slices.Contains(c.Levels, isolation.Level{Special: isolation.Linearizable}), ClockDrift: int64(c.Contract.ClockDrift),
		BaselineSpan: int64(c.MaxTxn + c.Lateness.D), MaxTxn: int64(c.MaxTxn),
		Begins: c.Contract.Begins, Patterns: c.Patterns,
	}
}

// fill writes name and witness into the finding.
func (c *Config) fill(name isolation.Name, f *finding.Finding, w *finding.Witness) {
	if c.Hide == "" {
		name.Fill(f, w, c.Expect)
		return
	}
	name.FillHidden(f, w, c.Expect, c.Hide)
}
