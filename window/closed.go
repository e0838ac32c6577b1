package window

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// Under sessions=closed every transaction is of a session that the contract lists. A finding that rests
// on absence then waits until each of these sessions is known to have gone on. One of its transactions
// began after all that matters, and the watermark has passed that begin. A session is sequential. So
// each earlier transaction of the session has ended by then, and its record has come. No conclusion
// follows from a session that was never seen. The same holds for one with a member missing by its seq.
// Once a transaction of another session, or without a session, has come, no session shows anything.

// maxBegins bounds the begins that are kept of one session, ahead of the watermark. It also bounds the
// members that are kept by seq while one before them has not come.
const maxBegins = 64

// closedSessions are the listed sessions. nil: none are listed.
type closedSessions struct {
	Broken bool // a transaction of no such session came
	List   []closedSession
	at     map[string]int
}

type closedSession struct {
	Name   string
	Passed int64   // when its latest transaction behind the watermark began
	Ahead  []int64 // when those in front of it began, ascending; of many, some are left out

	Epoch  string
	Known  bool    // Seq is known
	Seq    int64   // all members have come, from the first known one to this one
	Behind []int64 // the members that came behind a missing one, ascending
}

// closeSessions lists them, in the order of their names.
func closeSessions(cfg *Config) *closedSessions {
	if !cfg.Contract.ClosedSessions || cfg.Unbounded {
		return nil
	}
	c := &closedSessions{at: map[string]int{}}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(cfg.Sessions))) {
		c.at[name] = len(c.List)
		c.List = append(c.List, closedSession{Name: name, Passed: math.MinInt64})
	}
	return c
}

// take goes on with what was known of the same sessions. A transaction of another one
// stays one: the contract can only become weaker.
func (c *closedSessions) take(was *closedSessions) {
	if c == nil || was == nil {
		return
	}
	c.Broken = was.Broken
	for _, s := range was.List {
		if i, ok := c.at[s.Name]; ok {
			c.List[i] = s
		}
	}
}

// goOn notes that a transaction of a session began.
func (k *clock) goOn(b *event.Batch, t *event.Txn, start int64) {
	c := k.closedSessions
	if c.Broken {
		return
	}
	i, ok := c.at[b.Text(t.Session)]
	if !ok || k.untimed {
		c.Broken = true
		k.results.Stranger = &Stranger{Txn: b.Text(t.ID), Session: b.Text(t.Session)}
		return
	}
	c.List[i].begin(start, k.watermark, k.lateness())
	if t.Flags&event.HasSeq != 0 {
		c.List[i].count(t.Seq, b.Text(t.Epoch))
	}
}

func (s *closedSession) begin(start, watermark, lateness int64) {
	if start < watermark {
		s.Passed = max(s.Passed, start)
		return
	}
	i, _ := slices.BinarySearch(s.Ahead, start)
	apart := lateness / maxBegins // closer ones tell nearly the same
	if i > 0 && start-s.Ahead[i-1] < apart || len(s.Ahead) >= maxBegins {
		return
	}
	s.Ahead = slices.Insert(s.Ahead, i, start)
}

// count notes the member with this seq. More than maxBegins behind a missing one are not
// told apart from a loss: the session then shows nothing any more in this epoch.
func (s *closedSession) count(seq int64, epoch string) {
	if s.Epoch != epoch || !s.Known {
		s.Epoch, s.Known, s.Seq, s.Behind = epoch, true, seq, s.Behind[:0]
		return
	}
	if seq > s.Seq && len(s.Behind) < maxBegins {
		if i, again := slices.BinarySearch(s.Behind, seq); !again {
			s.Behind = slices.Insert(s.Behind, i, seq)
		}
	}
	for len(s.Behind) > 0 && len(s.Behind) < maxBegins && s.Behind[0] == s.Seq+1 {
		s.Seq, s.Behind = s.Seq+1, slices.Delete(s.Behind, 0, 1)
	}
}

// wentOn is the time before which whatever began has come; math.MinInt64: none is known.
func (k *clock) wentOn() int64 {
	c := k.closedSessions
	if c == nil || c.Broken {
		return math.MinInt64
	}
	least := int64(math.MaxInt64)
	for i := range c.List {
		s := &c.List[i]
		if n, _ := slices.BinarySearch(s.Ahead, k.watermark); n > 0 {
			s.Passed = max(s.Passed, s.Ahead[n-1])
			s.Ahead = slices.Delete(s.Ahead, 0, n)
		}
		if least = min(least, s.Passed); least == math.MinInt64 || len(s.Behind) > 0 {
			return math.MinInt64
		}
	}
	return least
}

// Stranger is a transaction of a session that sessions=closed does not list.
type Stranger struct{ Txn, Session string }
