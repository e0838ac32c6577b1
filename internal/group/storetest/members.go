package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/drive"
	"github.com/isowatch/isowatch/internal/group/store"
)

const (
	lease     = 2 * time.Second
	unitCount = 12
)

// node runs a member over a store in real time.
type node struct {
	m     *drive.Member
	mu    sync.Mutex
	owned map[string]uint64 // terms of the units that it owns
}

func startNode(t *testing.T, id string, s store.Store) *node {
	t.Helper()
	n := &node{owned: map[string]uint64{}}
	var units []string
	for i := range unitCount {
		units = append(units, fmt.Sprintf("nats:ORDERS.%d", i))
	}
	n.mu.Lock() // events wait until m is there
	defer n.mu.Unlock()
	n.m = drive.Start(drive.Options{ID: id, Lease: lease, Units: units, Store: s, Heed: n.heed})
	return n
}

func (n *node) heed(e group.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e.Kind {
	case group.Gained:
		n.owned[e.Unit] = e.Term
	case group.Yield:
		n.m.Yielded(e.Unit, e.Term)
	case group.Lost, group.Handed:
		delete(n.owned, e.Unit)
	}
}

// kill ends it without another word.
func (n *node) kill() {
	n.m.Stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.owned)
}

func (n *node) units() map[string]uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := map[string]uint64{}
	for unit, term := range n.owned {
		all[unit] = term
	}
	return all
}

// members: three share the units, one is killed, and the others have its units within a few leases.
func members(t *testing.T, open func(*testing.T) store.Store) {
	var nodes []*node
	for i := range 3 {
		n := startNode(t, fmt.Sprintf("m%d", i), open(t))
		defer n.kill()
		nodes = append(nodes, n)
	}
	awaitShares(t, nodes, 4)
	nodes[1].kill()
	awaitShares(t, []*node{nodes[0], nodes[2]}, 6)
}

func awaitShares(t *testing.T, nodes []*node, each int) {
	t.Helper()
	began := time.Now()
	for {
		owners, even := map[string]int{}, true
		for _, n := range nodes {
			units := n.units()
			even = even && len(units) == each
			for unit := range units {
				owners[unit]++
			}
		}
		if even && len(owners) == unitCount {
			t.Logf("%d members have %d units each after %v", len(nodes), each, time.Since(began).Round(10*time.Millisecond))
			return
		}
		if time.Since(began) > 15*lease {
			t.Fatalf("after %v: %v", time.Since(began), owners)
		}
		time.Sleep(lease / 50)
	}
}
