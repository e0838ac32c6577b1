package probe

import "time"

// Phase is a part of a transaction's way that can fail on its own.
type Phase uint8

const (
	Connect    Phase = iota // a session is opened
	Begin                   // the transaction begins
	Operations              // from the first operation to the answer of the last
	Commit
	numPhases
)

// Phases are all, in their order.
func Phases() []Phase { return []Phase{Connect, Begin, Operations, Commit} }

// String is the phase as metrics name it.
func (p Phase) String() string {
	return [numPhases]string{"connect", "begin", "operations", "commit"}[p]
}

// Observer is told how a run fares. It is called by all sessions at once.
type Observer interface {
	// Begins: a transaction is about to begin.
	Begins()
	// Phase: one is over, which took so long by the machine's clock, at the endpoint of that name; "": the database has no other.
	// err says why the database gave no answer; an answer may be that it aborts the transaction.
	Phase(endpoint string, p Phase, took time.Duration, err error)
	// Ends: a transaction is over, and its record emitted, if it has one.
	Ends()
}

// nobody observes.
type nobody struct{}

func (nobody) Begins()                                   {}
func (nobody) Phase(string, Phase, time.Duration, error) {}
func (nobody) Ends()                                     {}

// timed runs a part of a transaction, and tells the observer.
func (c *client) timed(p Phase, run func() error) error {
	from := time.Now()
	err := run()
	c.observe(p, time.Since(from), err)
	return err
}

// observe tells the observer of a part at the endpoint that it visits.
func (c *client) observe(p Phase, took time.Duration, err error) {
	c.o.Observer.Phase(c.link().Name, p, took, err)
}
