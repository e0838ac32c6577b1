package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/isowatch/isowatch/isolation"
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
)

// Watch says what is promised and how it is checked.
type Watch struct {
	Expect isolation.Level   // what the database promises; what it allows is no alert
	Levels []isolation.Level // that a verdict is given for
	Named  bool              // Levels were asked for by name, and not as "all" or by default

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
}

// DefaultWatch has every default but that of the contract, which the caller
// chooses.
func DefaultWatch(c Contract) Watch {
	return Watch{
		Expect: isolation.Level{Base: isolation.Serializable},
		Levels: isolation.Watched(),
		Window: Window{Duration: DefaultWindow}, Lateness: DefaultLateness,
		MaxTransaction: DefaultMaxTransaction, Idle: DefaultIdle, Pane: DefaultPane,
		LiveCap: DefaultLiveCap, Contract: c,
	}
}

// Validate lists every fault.
func (w *Watch) Validate() error {
	var faults []error
	if w.Expect == (isolation.Level{}) {
		faults = append(faults, errors.New("expect: no level is named"))
	}
	if len(w.Levels) == 0 {
		faults = append(faults, errors.New("levels: none is named"))
	}
	if w.Lateness < 0 {
		faults = append(faults, fmt.Errorf("lateness %v: must not be negative", w.Lateness))
	}
	for _, x := range []struct {
		name  string
		value time.Duration
	}{{"max-transaction", w.MaxTransaction}, {"idle", w.Idle}, {"pane", w.Pane}} {
		if x.value <= 0 {
			faults = append(faults, fmt.Errorf("%s %v: must be positive", x.name, x.value))
		}
	}
	if w.LiveCap < 1 {
		faults = append(faults, fmt.Errorf("live-cap %d: must be positive", w.LiveCap))
	}
	if w.KeyCap < 0 {
		faults = append(faults, fmt.Errorf("key-cap %d: must not be negative", w.KeyCap))
	}
	return errors.Join(faults...)
}
