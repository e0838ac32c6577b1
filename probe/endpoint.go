package probe

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/isowatch/isowatch/event"
)

// Endpoint is one server of a database: its primary, a replica or a node.
type Endpoint struct {
	Database
	// Name is in the label "endpoint" of records; "": they have none.
	Name string
	// Stale declares the reads of an endpoint that takes no writes to be stale.
	Stale bool
}

// Replicated is a [Database] with more than one endpoint: each session visits them in turn.
// The database itself is the one that takes writes at the beginning.
type Replicated interface {
	Database
	Endpoints() []Endpoint
}

// Follower is a [Session] that may be one of a server that takes no writes: a replica. It
// gets transactions that only read.
type Follower interface {
	Session
	// ReadOnly asks the server. It is called between transactions, at most once a second.
	ReadOnly(ctx context.Context) (bool, error)
}

const (
	// shortPause and longPause bound the pause between two attempts to open a session again.
	// Each pause is twice as long as the one before.
	shortPause = 200 * time.Millisecond
	longPause  = 5 * time.Second
	// roleAge is how long the server's answer counts whether it takes writes.
	roleAge = time.Second
)

// link is a client's session at one endpoint.
type link struct {
	Endpoint
	labels   map[string]string // of records
	session  Session           // nil: there is none
	readOnly bool
	asked    time.Time // about readOnly
	pause    time.Duration
	until    time.Time // no attempt to open a session before
}

func linksOf(db Database) []link {
	replicated, is := db.(Replicated)
	if !is {
		return []link{{Endpoint: Endpoint{Database: db}}}
	}
	var all []link
	for _, e := range replicated.Endpoints() {
		l := link{Endpoint: e}
		if e.Name != "" {
			l.labels = map[string]string{"endpoint": e.Name}
		}
		all = append(all, l)
	}
	return all
}

// ready says whether there is a session, which it opens if need be.
func (l *link) ready(ctx context.Context, o *Options, rng *rand.Rand) bool {
	if l.session == nil && o.Now().Before(l.until) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if l.open(ctx, o) == nil && l.ask(ctx, o) == nil {
		return true
	}
	l.fail(o, rng)
	return false
}

// fail closes a session that could not be opened or begun, and has the next one wait. A
// transaction that begins ends the waiting.
func (l *link) fail(o *Options, rng *rand.Rand) {
	l.close()
	l.pause = min(max(2*l.pause, shortPause), longPause)
	l.until = o.Now().Add(time.Duration(float64(l.pause) * (0.5 + rng.Float64())))
}

func (l *link) open(ctx context.Context, o *Options) (err error) {
	if l.session == nil {
		from := time.Now()
		l.session, err = l.Database.Open(ctx)
		o.Observer.Phase(l.Name, Connect, time.Since(from), err)
		l.asked = time.Time{}
	}
	return err
}

// ask asks the server whether it takes writes, if the last answer is old.
func (l *link) ask(ctx context.Context, o *Options) (err error) {
	f, follows := l.session.(Follower)
	if !follows || o.Now().Sub(l.asked) < roleAge {
		return nil
	}
	l.readOnly, err = f.ReadOnly(ctx)
	l.asked = o.Now()
	return err
}

func (l *link) close() {
	if l.session != nil {
		l.session.Close() // the database undoes what is open
		l.session = nil
	}
}

// TablesWait is how long an endpoint may take to show tables that were made at another one.
const TablesWait = 10 * time.Second

// AwaitTables returns once tables that were made at another endpoint can be read at this
// one, or after [TablesWait] why they cannot.
func (e *Endpoint) AwaitTables(ctx context.Context) (err error) {
	late := time.After(TablesWait)
	for {
		if err = readNothing(ctx, e.Database); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-late:
			return err
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// readNothing reads a register that is not there.
func readNothing(ctx context.Context, db Database) error {
	s, err := db.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if f, follows := s.(Follower); follows { // it may begin its transactions in another way
		if _, err := f.ReadOnly(ctx); err != nil {
			return err
		}
	}
	if err := s.Begin(ctx); err != nil {
		return err
	}
	op := Op{RecordOp: event.RecordOp{Kind: event.Read, Key: "none"}}
	return errors.Join(s.Do(ctx, &op), s.Rollback(ctx))
}
