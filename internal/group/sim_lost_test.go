package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/testrun"
)

// losses list what a store loses. again: its versions begin again, as in a new bucket. fresh: a process begins at once, and knows nothing.
var losses = []struct {
	name         string
	prefixes     []string
	again, fresh bool
}{
	{"all", []string{memberPrefix, unitPrefix, statePrefix}, false, false},
	{"all, and is made again", []string{memberPrefix, unitPrefix, statePrefix}, true, true},
	{"all, and a member begins", []string{memberPrefix, unitPrefix, statePrefix}, false, true},
	{"units", []string{unitPrefix}, false, false},
	{"units, and a member begins", []string{unitPrefix}, false, true},
	{"members", []string{memberPrefix}, false, false},
	{"members and units", []string{memberPrefix, unitPrefix}, false, true},
	{"states", []string{statePrefix}, false, true},
	{"units and states", []string{unitPrefix, statePrefix}, false, true},
}

// TestSimStoreLosesRecords: the store loses records, after faults of all kinds or after none, and a member that was killed before may come
// back first. Within three leases each unit has one owner, and the load is even. Then nothing moves, all is delivered, and a lost state
// is told.
func TestSimStoreLosesRecords(t *testing.T) {
	for _, loss := range losses {
		t.Run(loss.name, func(t *testing.T) {
			eachSeed(0, uint64(testrun.Size(10, 40)), func(seed uint64) bool {
				w := newWorld(seed, simSize{4, 10, 0}, noFault)
				if seed%2 == 0 {
					w.disturb(30, w.lease, 8*w.lease)
				}
				w.runUntil(w.lastFault + 4*w.lease)
				before := w.moved()
				for _, unit := range w.unitNames {
					w.anomalies[unit] = []time.Duration{w.lease, w.now - time.Second, w.now + time.Second, w.now + 4*w.lease}
				}
				w.runUntil(w.now + w.lease/2)
				w.forgotten = true
				if loss.fresh {
					for _, p := range w.processes {
						if !p.dead {
							p.dead = true
							break
						}
					}
				}
				w.store.lose(loss.prefixes...)
				if loss.again {
					w.store.revision = 0
				}
				if loss.fresh {
					w.start(fmt.Sprintf("m%03d", 0))
				}
				w.missing = 0
				w.runUntil(w.now + 3*w.lease)
				w.forgotten = false
				w.settled()
				moves := w.moves
				w.forgotten = true
				w.runUntil(w.now + 3*w.lease)
				w.forgotten = false
				w.settled()
				if w.moves != moves {
					w.violated("%d units move three leases after the loss", w.moves-moves)
				}
				for _, unit := range w.unitNames {
					for k := range w.anomalies[unit] {
						if id := fmt.Sprintf("%s#%d", unit, k+1); len(w.told[id]) == 0 {
							w.violated("%s was never delivered", id)
						}
					}
				}
				if states := loss.prefixes[len(loss.prefixes)-1] == statePrefix; !states && w.missing > 0 || len(loss.prefixes) > 2 && w.missing < len(w.unitNames) {
					w.violated("%d states are met as missing, of %d units", w.missing, len(w.unitNames))
				}
				if w.bad != "" {
					t.Errorf("seed %d (%d moves before): %s", seed, len(before), w.bad)
				}
				return true
			})
		})
	}
}
