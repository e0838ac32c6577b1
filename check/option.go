package check

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/whole"
)

// Levels by name, weak ones first. With [StrongSession] before it, a level also asks that the
// transactions of a session keep their order. With [Strong], it also asks this of transactions
// that did not overlap in real time.
const (
	ReadUncommitted     = "read-uncommitted"
	ReadCommitted       = "read-committed"
	MonotonicAtomicView = "monotonic-atomic-view"
	ReadAtomic          = "read-atomic"
	Causal              = "causal"
	Prefix              = "prefix"
	SnapshotIsolation   = "snapshot-isolation"
	Serializable        = "serializable"
	// StrictSerializable is serializable in real time.
	StrictSerializable = "strong-serializable"
	// Linearizable is about single keys.
	Linearizable = "linearizable"

	StrongSession = "strong-session-"
	Strong        = "strong-"
)

// Option changes what is asked of a history. If [Levels] or [Expect] is given several times,
// the last one counts. Contracts add up.
type Option func(*options) error

type options struct {
	watch                              config.Watch
	expecting, levelled, fixedContract bool
}

func defaults() options { return options{watch: config.DefaultWatch(config.WholeContract())} }

// Levels are those to judge, by name; "default" and "all" stand for several. Without it they
// are snapshot isolation and serializable, each plain and with session order.
func Levels(names ...string) Option {
	return func(o *options) error {
		o.levelled = true
		return o.watch.SetLevels(strings.Join(names, ","))
	}
}

// Expect is the level that [Result.Verdict] is about: one by name, or what a product promises
// at a setting, such as "postgresql/repeatable-read" (docs/databases.md). No other level is
// judged, unless [Levels] names some.
//
// A record may say that its transaction asked for less (Isolation). Such a transaction is
// judged by the level that it asked for, and the expected level is then Unknown at best.
// Contract("isolation=ignore") judges all transactions by this level.
func Expect(name string) Option {
	return func(o *options) error {
		o.expecting = true
		return o.watch.SetExpect(name)
	}
}

// Contract says what was recorded, in the words of docs/configuration.md, such as
// "start=existing,isolation=ignore". The other keys stay: capture=complete, start=empty,
// unmonitored-writers=no, deletes=recorded, value-identity=unique.
func Contract(settings string) Option {
	return func(o *options) error {
		o.fixedContract = true
		return o.watch.Contract.Set(settings)
	}
}

func (o *options) whole() (*whole.Whole, error) {
	if o.expecting {
		o.watch.AskExpected(o.levelled)
	}
	if err := o.watch.Validate(); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	return &whole.Whole{Watch: o.watch, Expecting: o.expecting, FixedContract: o.fixedContract}, nil
}
