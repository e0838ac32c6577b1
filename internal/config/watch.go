package config

import (
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/pattern"
)

// Defaults of [Watch].
const (
	DefaultWindow         = 60 * time.Second
	DefaultLateness       = 5 * time.Second
	DefaultMaxTransaction = 30 * time.Second
	DefaultIdle           = 10 * time.Second
	DefaultPane           = 10 * time.Second
	DefaultLiveCap        = 1_000_000
	DefaultKeyCap         = 1_000_000 // of a service; a file is checked in memory

	// Positions are counted in steps of 1024 within an int64; a quarter of that
	// range leaves room for sums.
	maxWindowTxns = 1 << 51

	// maxSessions bounds what is looked through each time that something waits for them.
	maxSessions = 4096

	// minPane keeps verdicts by stretch of time fewer than transactions.
	minPane = time.Millisecond
)

// Watch says what is promised and how it is checked.
type Watch struct {
	Expect isolation.Level // the database's promise; an anomaly that it allows raises no alert
	// Setting is the product and its setting that Expect was named by, such as
	// "postgresql/repeatable-read"; "" where a level was named.
	Setting string
	Levels  []isolation.Level // that a verdict is given for
	// Notes gives these, of Expect and Levels.
	expectNote string
	levelNotes []string
	Named      bool // Levels were asked for by name, and not as "all" or by default

	Window         Window
	Lateness       time.Duration // how far behind the latest one a record may come
	MaxTransaction time.Duration // the longest transaction
	Idle           time.Duration // an input that is silent for longer holds nothing back
	Pane           time.Duration // stretch of time that gets a verdict of its own
	LiveCap        int           // transactions kept, at most
	// KeyCap is how many keys and sessions stay in memory when nobody uses them:
	// those beyond are on disk. 0: all stay.
	KeyCap int

	Contract Contract
	// ShowValues: findings show values. Otherwise everything but the data folder has hashes in their place.
	ShowValues bool
	// Patterns of keys, in which "#" stands for a part that varies: see value-identity=observed.
	Patterns []string
	// Sessions are all that there are, with the contract's sessions=closed.
	Sessions []string
}

// DefaultWatch has every default but the contract, which the caller chooses.
func DefaultWatch(c Contract) Watch {
	return Watch{
		Expect: isolation.Level{Base: isolation.Serializable},
		Levels: isolation.Watched(),
		Window: Window{Duration: DefaultWindow}, Lateness: DefaultLateness,
		MaxTransaction: DefaultMaxTransaction, Idle: DefaultIdle, Pane: DefaultPane,
		LiveCap: DefaultLiveCap, Contract: c, ShowValues: true,
	}
}

// SetExpect reads a level's name, or a product and its setting.
func (w *Watch) SetExpect(text string) error {
	l, setting, err := isolation.ParseExpected(text)
	if err != nil {
		return err
	}
	w.Expect, w.Setting, w.expectNote = l, setting, isolation.Taken(text)
	return nil
}

// Notes say what is taken of names of levels that mean other things to other people, or are not
// checked by themselves.
func (w *Watch) Notes() []string {
	notes := w.levelNotes
	if w.expectNote != "" {
		notes = append([]string{w.expectNote}, notes...)
	}
	return notes
}

// Expected is the argument of SetExpect, in our spelling.
func (w *Watch) Expected() string {
	if w.Setting != "" {
		return w.Setting
	}
	return w.Expect.String()
}

// AskExpected makes the expected level the only one that gets a verdict, or the first where
// others were named.
func (w *Watch) AskExpected(others bool) {
	levels := []isolation.Level{w.Expect}
	for _, l := range w.Levels {
		if others && l != w.Expect {
			levels = append(levels, l)
		}
	}
	w.Levels, w.Named = levels, true
}

// Product is the database's product, "" if it was not named.
func (w *Watch) Product() string {
	product, _, _ := strings.Cut(w.Setting, "/")
	return product
}

// expectLeaf is Expect with Setting.
type expectLeaf struct{ *Watch }

func (l expectLeaf) String() string         { return l.Expected() }
func (l expectLeaf) set(value string) error { return l.SetExpect(value) }

// levelsLeaf is Levels with Named.
type levelsLeaf struct{ *Watch }

func (l levelsLeaf) String() string {
	switch {
	case !l.Named && sameLevels(l.Levels, isolation.Watched()):
		return defaultLevels
	case !l.Named:
		return "all"
	}
	return strings.Join(isolation.LevelNames(l.Levels), ",")
}

func (l levelsLeaf) set(value string) error { return l.SetLevels(value) }

func sameLevels(a, b []isolation.Level) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(l isolation.Level) bool { return !slices.Contains(b, l) })
}

// defaultLevels names isolation.Watched.
const defaultLevels = "default"

// SetLevels reads level names, and "default" and "all" among them.
func (w *Watch) SetLevels(text string) error {
	levels, err := isolation.ParseLevels(text)
	if err != nil {
		return err
	}
	given := strings.ToLower(strings.TrimSpace(text))
	w.Levels, w.Named, w.levelNotes = levels, given != "all" && given != defaultLevels, nil
	for name := range strings.SplitSeq(text, ",") {
		if note := isolation.Taken(name); note != "" && !slices.Contains(w.levelNotes, note) {
			w.levelNotes = append(w.levelNotes, note)
		}
	}
	return nil
}

func (w *Watch) fields() []field {
	return []field{
		{"expect", expectLeaf{w}},
		{"levels", levelsLeaf{w}},
		{"window", windowLeaf{&w.Window}},
		{"lateness", period{&w.Lateness}},
		{"max-transaction", period{&w.MaxTransaction}},
		{"idle", period{&w.Idle}},
		{"pane", period{&w.Pane}},
		{"live-cap", number{&w.LiveCap}},
		{"key-cap", number{&w.KeyCap}},
		{"contract", &w.Contract},
		{"show-values", truth{&w.ShowValues}},
		{"patterns", listing{to: &w.Patterns}},
		{"sessions", listing{to: &w.Sessions}},
	}
}

// Validate lists every fault.
func (w *Watch) Validate() error {
	var f faults
	if w.Expect == (isolation.Level{}) {
		f.add("expect", "expect: no level is named")
	}
	if len(w.Levels) == 0 {
		f.add("levels", "levels: none is named")
	}
	if w.Lateness < 0 {
		f.add("lateness", "lateness %v: must not be negative", w.Lateness)
	}
	for _, x := range []struct {
		name  string
		value time.Duration
	}{{"max-transaction", w.MaxTransaction}, {"idle", w.Idle}, {"pane", w.Pane}} {
		if x.value <= 0 {
			f.add(x.name, "%s %v: must be positive", x.name, x.value)
		}
	}
	if w.Pane > 0 && w.Pane < minPane {
		f.add("pane", "pane %v: at least %v", w.Pane, minPane)
	}
	if w.LiveCap < 1 {
		f.add("live-cap", "live-cap %d: must be positive", w.LiveCap)
	}
	if w.KeyCap < 0 {
		f.add("key-cap", "key-cap %d: must not be negative", w.KeyCap)
	}
	if err := pattern.CheckNamed(w.Patterns); err != nil {
		f.add("patterns", "patterns: %v", err)
	}
	switch n := len(w.Sessions); {
	case w.Contract.ClosedSessions && n == 0:
		f.add("sessions", "sessions=closed: sessions has to list them all")
	case !w.Contract.ClosedSessions && n > 0:
		f.add("sessions", "sessions are listed, and the contract does not say sessions=closed")
	case n > maxSessions:
		f.add("sessions", "sessions: %d are listed, at most %d may be", n, maxSessions)
	}
	return f.err()
}
