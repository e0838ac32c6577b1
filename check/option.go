package check

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/config"
	"github.com/isowatch/isowatch/internal/whole"
)

// Levels by name, weak ones first. With [StrongSession] before it a level also asks that the
// transactions of a session keep their order, with [Strong] that those do which did not overlap
// in real time.
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

// Option changes what is asked of a history. Of several [Levels] or [Expect] the last one
// counts; contracts add up.
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
// at a setting, such as "postgresql/repeatable-read" (docs/databases.md). It is the only level that is
// judged, unless [Levels] names others.
//
// Transactions that say that they asked for less (Isolation in their records) are judged by what
// they asked for, and the level is then Unknown at best; Contract("isolation=ignore") judges all by this one.
func Expect(name string) Option {
	return func(o *options) error {
		o.expecting = true
		return o.watch.SetExpect(name)
	}
}

// Contract says what was recorded, in the words of docs/configuration.md, such as
// "start=existing,isolation=ignore". What it does not name stays: capture=complete, start=empty,
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
