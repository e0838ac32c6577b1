package group

import "time"

// Instant is when something was, by the two clocks of this machine. Mono grows always, and may stand still
// while the machine is suspended. Wall goes on then, and may be set back.
type Instant struct{ Mono, Wall time.Duration }

// Parts of a lease.
const (
	marginPart  = 10  // one of so many is left unused: clocks may differ in rate by nearly as much
	pollPart    = 6   // members renew and look this often in a lease
	graveLeases = 600 // so many leases after its end, the mark of a lease is removed
)

// lease is a member's own, as it may count on it.
type lease struct {
	length  time.Duration
	held    bool
	since   Instant // before the renewal was sent
	planted planted
}

// left is for how long no other member can have taken what is this member's. Each clock may have stood
// still or gone back, so the one that shows more counts.
func (l *lease) left(now Instant) time.Duration {
	if !l.held {
		return 0
	}
	gone := max(now.Mono-l.since.Mono, now.Wall-l.since.Wall)
	if l.planted == wallClockAlone {
		gone = now.Wall - l.since.Wall
	}
	return max(l.length-l.length/marginPart-gone, 0)
}

// planted is a fault that tests put in, to see that the simulation finds it.
type planted uint8

const (
	noFault planted = iota
	noTermOnWrites
	wallClockAlone
	deliveryBeforeState
	lostReplyIsFailure
)
