//go:build integration

package live

import (
	"sync"

	"github.com/isowatch/isowatch/event"
)

// writeSkew: two read both rows, and each writes one.
func writeSkew(s *stepped) []anomaly {
	k := s.fill(2)
	a, b := s.people[0].begin(), s.people[1].begin()
	for _, key := range k {
		a.read(key)
		b.read(key)
	}
	a.write(k[0])
	b.write(k[1])
	txns := []string{a.commit(), b.commit()}
	knows(a.saw[k[1]] == b.saw[k[1]] && a.saw[k[0]] == b.saw[k[0]], "no write skew")
	return []anomaly{{name: "G2-item", txns: txns}}
}

// readTwice: a row is read before and behind another's commit. What that had not committed yet
// is not seen where dirty reads are ruled out.
func readTwice(s *stepped) []anomaly {
	k := s.fill(1)
	a, b := s.people[0].begin(), s.people[1].begin()
	before := a.read(k[0])
	b.read(k[0])
	b.write(k[0])
	knows(s.name == "read-uncommitted" && s.product != "postgresql" || a.read(k[0]) == before, "a dirty read")
	b.commit()
	knows(a.read(k[0]) == b.put[k[0]], "the second read shows no later version")
	return []anomaly{{name: "internal", txns: []string{a.commit()}}}
}

// A value that its writer had not read before may have been there already, for all that the records
// say, while both ran: so each schedule reads before it writes.

// fractured: a row is read before another's commit, and its second row behind it.
func fractured(s *stepped) []anomaly {
	k := s.fill(2)
	a, b := s.people[0].begin(), s.people[1].begin()
	before := a.read(k[0])
	b.read(k[0])
	b.read(k[1])
	b.write(k[0])
	b.write(k[1])
	txns := []string{b.commit()}
	knows(a.read(k[1]) == b.put[k[1]] && before != b.put[k[0]], "both reads show one state")
	return []anomaly{{name: "G-single-item", txns: append(txns, a.commit())}}
}

// dirty: what is read was written over, and then rolled back.
func dirty(s *stepped) []anomaly {
	k := s.fill(2)
	a, b := s.people[0].begin(), s.people[1].begin()
	a.read(k[0])
	a.write(k[0])
	knows(b.read(k[0]) == a.put[k[0]], "no dirty read")
	a.write(k[0])
	between := []string{a.commit(), b.commit()}
	c, d := s.people[0].begin(), s.people[1].begin()
	c.read(k[1])
	c.write(k[1])
	knows(d.read(k[1]) == c.put[k[1]], "no dirty read")
	return []anomaly{
		{name: "G1b", txns: between},
		{name: "G1a", txns: []string{c.rollback(), d.commit()}, declared: true},
	}
}

// replicaHold stops and goes on with what a replica replays, and lets a commit go that waits for
// a replica that does not exist.
type replicaHold struct {
	sync.Locker   // one schedule at a time
	pause, resume func()
	waiting       func() bool // a commit waits
	release       func()      // and now it does not
}

// behindPrimary: a session reads on the replica what it has written over on the primary.
func behindPrimary(s *stepped) []anomaly {
	s.hold.Lock()
	defer s.hold.Unlock()
	k := s.fill(1)
	p, r := s.people[0], s.replica[0]
	r.await(k[0])
	s.hold.pause()
	defer s.hold.resume()
	a := p.begin()
	before := a.read(k[0])
	a.write(k[0])
	txns := []string{a.commit()}
	own := *r // one session, with a connection at each of the two
	own.name = p.name
	p.seq++
	own.seq = p.seq - 1
	b := own.begin()
	knows(b.read(k[0]) == before, "the replica is not behind")
	return []anomaly{{name: "G-single-item-process", txns: append(txns, b.commit()), declared: true}}
}

// longFork: two commits that readers of the primary see in one order, and readers of the replica
// in the other. The first is in the log and waits for a synchronous replica: until then nobody on
// the primary sees it.
func longFork(s *stepped) []anomaly {
	s.hold.Lock()
	defer s.hold.Unlock()
	k := s.fill(2)
	p, r := s.people, s.replica[0]
	r.await(k[0])
	a := p[0].begin("SET LOCAL synchronous_commit = on")
	a.read(k[0])
	a.write(k[0])
	done := make(chan error, 1)
	go func() { done <- a.tx.Commit() }()
	retryUntil(r.ctx, "the commit does not wait", s.hold.waiting)
	retryUntil(r.ctx, "the replica does not show the first commit", func() bool { return r.looks(k[0]) == a.put[k[0]] })
	there := r.begin()
	there.read(k[0])
	there.read(k[1])
	txns := []string{there.commit()}
	b := p[1].begin()
	b.read(k[1])
	b.write(k[1])
	txns = append(txns, b.commit())
	here := p[2].begin()
	here.read(k[0])
	here.read(k[1])
	txns = append(txns, here.commit())
	s.hold.release()
	must(0, <-done)
	txns = append(txns, a.emit(event.Committed))
	knows(there.saw[k[0]] == a.put[k[0]] && there.saw[k[1]] != b.put[k[1]] && here.saw[k[0]] != a.put[k[0]] && here.saw[k[1]] == b.put[k[1]],
		"no long fork")
	return []anomaly{{name: "G-nonadjacent-item", txns: txns}}
}
