// Package alert delivers findings. They wait in an outbox, which the same commit
// wrote. Each sink has a goroutine, which takes them from there in order and moves the
// sink's cursor behind each delivery. So each finding reaches each sink at least once. A
// receiver drops repeated deliveries by id and revision. A sink that does not answer delays
// no other sink.
//
// The package is a part of the monitor. It promises nothing to importers: names and behaviour change
// without notice.
package alert

import (
	"context"
	"errors"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// Delivery is one finding on its way out.
type Delivery struct {
	Seq     uint64 // place in the outbox, growing
	Finding finding.Finding
	JSON    []byte // the finding as it is stored and printed, without a newline
}

// Sink takes findings.
type Sink interface {
	// Name is the sink's label in metrics and the key of its cursor: unique, and
	// the same after a restart.
	Name() string
	// Deliver returns nil when every one of the findings was taken. Otherwise
	// all of them come again. It must return soon after ctx ends.
	Deliver(ctx context.Context, findings []Delivery) error
}

// Batcher is a [Sink] that takes few findings at a time. So each step of it has the whole timeout, and the
// cursor moves with each.
type Batcher interface {
	// BatchMax is how many it takes, from 1.
	BatchMax() int
}

// Outbox holds what is to be delivered.
type Outbox interface {
	// Pending are at most max deliveries behind the sink's cursor, by Seq.
	Pending(sink string, max int) ([]Delivery, error)
	// Advance moves the sink's cursor behind seq, and keeps what the sink remembers.
	Advance(sink string, seq uint64, state []byte) error
	// Keep keeps what the sink remembers, and leaves its cursor.
	Keep(sink string, state []byte) error
	// Kept returns the state that was kept last.
	Kept(sink string) ([]byte, error)
}

// ErrRejected marks a delivery that the receiver will not take however often it
// comes: the content is at fault and not the connection.
var ErrRejected = errors.New("receiver rejected the findings")

// RetryError is a failure whose receiver said when to come again.
type RetryError struct {
	Err   error
	After time.Duration
}

func (e *RetryError) Error() string { return e.Err.Error() }
func (e *RetryError) Unwrap() error { return e.Err }

// Filter says which findings a sink gets beside the alerts proper. These are violations of the
// expected level that are certain, lost input, and dependencies behind the horizon. The last
// may be violations until they are replayed. Findings that the filter leaves out are counted.
type Filter struct {
	// Expected: findings that the expected level allows.
	Expected bool
	// Uncertain: findings that a record not captured could explain away.
	Uncertain bool
	// Only and Except are sources: a sink gets only findings of Only, unless it is "", and
	// no finding of Except. Findings of other sources are not counted.
	Only, Except string
}

// about says whether the finding is of a source that the sink is about.
func (f Filter) about(of *finding.Finding) bool {
	return (f.Only == "" || f.Only == of.Source) && (f.Except == "" || f.Except != of.Source)
}

// Everything is the filter that leaves nothing out, for sinks that show
// findings rather than alert.
func Everything() Filter { return Filter{Expected: true, Uncertain: true} }

// suppresses is the reason for which f leaves a finding out, "" for none.
func (f Filter) suppresses(of *finding.Finding) string {
	switch {
	case of.Expected && !f.Expected:
		return reasonExpected
	case !of.Certain && of.Kind != finding.KindHorizon && !f.Uncertain:
		return reasonUncertain
	}
	return ""
}

const (
	reasonExpected  = "expected"
	reasonUncertain = "uncertain"
)

// Route is a sink and what it gets.
type Route struct {
	Sink   Sink
	Filter Filter
	// Pages is where people reach the pages, for the link in each finding; "": no link.
	Pages string
}
