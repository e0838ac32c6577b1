package probe

import (
	"context"
	"fmt"

	"github.com/isowatch/isowatch/event"
)

// Client is a database that takes each transaction as a whole: what a program implements
// that wants another database probed. One goroutine uses it.
type Client interface {
	// Transact runs ops as one transaction, and returns them with what reads and ranges
	// found, in the same order. A read that found nothing has the flag event.NotFound; a
	// delete of what was not there is answered by such a read. An increment creates a counter
	// that is not there, which holds 0 before.
	//
	// The outcome is Aborted only when nothing took effect for certain; after a lost
	// connection, a time-out or when ctx ends it is Unknown. A client with an unknown outcome
	// is closed and used no more. An operation without an answer is left out of answers, or
	// there are no answers at all. err says why it is not Committed.
	Transact(ctx context.Context, ops []event.RecordOp) (answers []event.RecordOp, outcome event.Status, err error)
	Close() error
}

// Clients are a [Database] of clients, one a session. They need no tables: every key begins
// with prefix, which no other run has. Lists that nobody reads any more are deleted by an
// operation delete of kind list.
type Clients struct {
	Prefix string
	// Limit says what they cannot do, beside computing a write from a read.
	Limit Limits
	// Connect opens a client. It is safe for concurrent use.
	Connect func(ctx context.Context) (Client, error)
}

// Limits implements [Limited].
func (c *Clients) Limits() Limits {
	l := c.Limit
	l.Whole = true
	return l
}

// Reset implements [Database]. With its prefix, nothing is there.
func (c *Clients) Reset(context.Context) error { return nil }

// Open implements [Database].
func (c *Clients) Open(ctx context.Context) (Session, error) {
	client, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &wholeSession{client: client, prefix: c.Prefix}, nil
}

// wholeSession gathers the operations of a transaction, and runs them at its end.
type wholeSession struct {
	client  Client
	prefix  string
	asked   []event.RecordOp
	answers []event.RecordOp // what the record says
}

// Begin implements [Session].
func (s *wholeSession) Begin(context.Context) error {
	s.asked, s.answers = nil, nil
	return nil
}

// Do implements [Session]: the answer is not known yet.
func (s *wholeSession) Do(_ context.Context, op *Op) error {
	if op.Kind == event.Range {
		op.From, op.To = s.prefix+op.From, s.prefix+op.To
	} else {
		op.Key = s.prefix + op.Key
	}
	s.asked = append(s.asked, op.RecordOp)
	return nil
}

// Commit implements [Session].
func (s *wholeSession) Commit(ctx context.Context) (event.Status, error) {
	ops := make([]event.RecordOp, len(s.asked))
	copy(ops, s.asked)
	answers, outcome, err := s.client.Transact(ctx, ops)
	if outcome == event.Committed {
		if fault := fits(s.asked, answers); fault != nil {
			outcome, err = event.Unknown, fault
		}
	}
	if outcome == event.Committed {
		s.answers = answered(s.asked, answers)
	} else {
		s.answers = writesOf(s.asked) // its earlier reads are not needed as evidence
	}
	return outcome, err
}

// Rollback implements [Session]: nothing was sent.
func (s *wholeSession) Rollback(context.Context) error { return nil }

// Close implements [Session].
func (s *wholeSession) Close() error { return s.client.Close() }

// fits says what is wrong with the answers to what was asked.
func fits(asked, answers []event.RecordOp) error {
	if len(asked) != len(answers) {
		return fmt.Errorf("%d operations were sent, and %d answered", len(asked), len(answers))
	}
	for i := range asked {
		if why := misfit(&asked[i], &answers[i]); why != "" {
			return fmt.Errorf("the answer to operation %d of %d, %s of %q, %s", i+1, len(asked), asked[i].Kind, asked[i].Key, why)
		}
	}
	return nil
}

func misfit(asked, answer *event.RecordOp) string {
	gone := asked.Kind == event.Delete && answer.Kind == event.Read && answer.Flags&event.NotFound != 0
	isList := answer.Flags&event.IsArray != 0
	switch {
	case answer.Kind != asked.Kind && !gone:
		return fmt.Sprintf("is of %s", answer.Kind)
	case answer.Key != asked.Key:
		return fmt.Sprintf("is about %q", answer.Key)
	case asked.Kind == event.Read && asked.Data == event.List && !isList && answer.Flags&event.NotFound == 0:
		return "is no list"
	case asked.Kind == event.Read && answer.Value == "" && answer.Flags&event.NotFound == 0:
		return "has no value"
	case asked.Writes() && !gone && answer.Value != asked.Value:
		return fmt.Sprintf("wrote %s, and not %s", answer.Value, asked.Value)
	}
	return ""
}

// answered are the operations as the record tells them.
func answered(asked, answers []event.RecordOp) []event.RecordOp {
	told := make([]event.RecordOp, len(asked))
	for i := range asked {
		o := asked[i]
		switch a := &answers[i]; {
		case o.Kind == event.Read && o.Data == event.List:
			o.Data = event.AnyKind // the array tells the kind
			o.Value, o.Elems, o.Flags = "[]", nil, event.IsArray
			if a.Flags&event.IsArray != 0 {
				o.Value, o.Elems = a.Value, a.Elems
			}
		case o.Kind == event.Read:
			o.Value, o.Elems, o.Flags, o.Version = a.Value, a.Elems, a.Flags&(event.NotFound|event.IsArray), a.Version
		case o.Kind == event.Range:
			o.Rows = a.Rows
		case o.Kind == event.Delete && a.Kind == event.Read:
			o = event.RecordOp{Kind: event.Read, Key: o.Key, Flags: event.NotFound}
		default:
			o.Version, o.PrevVersion = a.Version, a.PrevVersion
		}
		told[i] = o
	}
	return told
}

// writesOf leaves out what was not answered.
func writesOf(ops []event.RecordOp) []event.RecordOp {
	var writes []event.RecordOp
	for _, o := range ops {
		if o.Kind != event.Read && o.Kind != event.Range {
			writes = append(writes, o)
		}
	}
	return writes
}
