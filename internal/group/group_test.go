package group

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// quiet is a world of so many members and units in which all units are owned.
func quiet(t *testing.T, members, units int) *world {
	t.Helper()
	w := newWorld(1, simSize{members: members, units: units}, noFault)
	w.runUntil(3 * w.lease)
	w.settled()
	if w.bad != "" {
		t.Fatal(w.bad)
	}
	w.moves = 0
	return w
}

// ownership is who works on each unit.
func (w *world) ownership() map[string]*process {
	owners := map[string]*process{}
	for _, p := range w.processes {
		if !p.dead {
			for unit := range p.workers {
				owners[unit] = p
			}
		}
	}
	return owners
}

func (w *world) settle(t *testing.T, d time.Duration) {
	t.Helper()
	w.runUntil(w.now + d)
	w.settled()
	if w.bad != "" {
		t.Fatal(w.bad)
	}
}

// A new member of n gets at most its share, and no unit moves between two others.
func TestJoin(t *testing.T) {
	for _, c := range []struct{ members, units int }{{1, 1}, {1, 10}, {2, 3}, {3, 10}, {4, 3}, {7, 100}, {9, 300}} {
		t.Run(fmt.Sprintf("%d members and %d units", c.members, c.units), func(t *testing.T) {
			w := quiet(t, c.members, c.units)
			before := w.ownership()
			joined := w.start("new")
			w.settle(t, w.lease)
			got := 0
			for unit, p := range w.ownership() {
				if p == joined {
					got++
				} else if p != before[unit] {
					t.Errorf("%s moved from %s to %s", unit, before[unit].id, p.id)
				}
			}
			if low := c.units / (c.members + 1); got != low && got != low+1 {
				t.Errorf("the new member got %d units of %d", got, c.units)
			}
			if moves := w.moves; moves != got {
				t.Errorf("%d moves for %d units", moves, got)
			}
		})
	}
}

// The units of a killed member move within two leases, and no others do.
func TestKill(t *testing.T) {
	w := quiet(t, 7, 100)
	before, victim := w.ownership(), w.processes[3]
	victim.dead = true
	w.settle(t, 2*w.lease)
	for unit, p := range w.ownership() {
		if before[unit] != victim && before[unit] != p {
			t.Errorf("%s moved from %s to %s", unit, before[unit].id, p.id)
		}
	}
	if lost := len(victim.workers); w.moves != lost {
		t.Errorf("%d moves for %d units", w.moves, lost)
	}
}

// A member that leaves hands its units over in half a lease, and its lease ends with it. No unit moves twice.
func TestLeave(t *testing.T) {
	w := quiet(t, 7, 100)
	leaver := w.processes[3]
	lost := len(leaver.workers)
	leaver.run(func() { leaver.leaving = true; leaver.m.Leave() })
	w.settle(t, w.lease/2)
	w.settle(t, 2*w.lease)
	if w.moves != lost {
		t.Errorf("%d moves for %d units", w.moves, lost)
	}
	if !leaver.dead {
		t.Error("it did not leave")
	}
	for unit, p := range w.ownership() {
		if p == leaver {
			t.Errorf("%s is with %s", unit, p.id)
		}
	}
}

// The last member may leave too: its units are free for whoever comes.
func TestLastLeaves(t *testing.T) {
	w := quiet(t, 1, 5)
	last := w.processes[0]
	last.run(func() { last.leaving = true; last.m.Leave() })
	w.runUntil(w.now + w.lease)
	if !last.dead {
		t.Fatal("it did not leave")
	}
	w.start("next")
	w.settle(t, w.lease/2)
}

// A member that was stopped for two leases gives up its units, says so, and joins again under another name.
func TestPause(t *testing.T) {
	w := quiet(t, 3, 9)
	p := w.processes[1]
	name := p.m.Name()
	p.pause(2*w.lease, false)
	w.runUntil(w.now + 2*w.lease - time.Millisecond)
	if left := p.m.Left(p.now()); left != 0 {
		t.Errorf("%v of the lease are left in a pause of two leases", left)
	}
	for unit := range p.workers {
		if may := p.m.May(p.now(), unit, 1, 0); may != 0 {
			t.Errorf("it may deliver for %v", may)
		}
	}
	w.settle(t, w.lease)
	if p.m.Name() == name {
		t.Error("it has its old name")
	}
}

// While the store cannot be reached nothing is delivered, and nothing moves when it is back.
func TestOutage(t *testing.T) {
	w := quiet(t, 3, 9)
	before := w.ownership()
	for _, p := range w.processes {
		p.cutTil = w.now + 5*w.lease
	}
	w.runUntil(w.now + 3*w.lease)
	for _, p := range w.processes {
		if p.m.Left(p.now()) != 0 {
			t.Errorf("%s still counts on its lease", p.id)
		}
	}
	w.settle(t, 4*w.lease)
	for unit, p := range w.ownership() {
		if p != before[unit] {
			t.Errorf("%s moved from %s to %s", unit, before[unit].id, p.id)
		}
	}
}

// A member that was not told of units takes its share of those that others know.
func TestUnknownUnits(t *testing.T) {
	w := quiet(t, 2, 9)
	names := w.unitNames
	w.unitNames = nil
	late := w.start("late")
	w.unitNames = names
	w.settle(t, w.lease)
	if n := len(late.workers); n != 3 {
		t.Errorf("it has %d units, want 3", n)
	}
}

// A lease that old reads lacked counts again when they show it.
func TestMissingAndBack(t *testing.T) {
	w := quiet(t, 2, 10)
	a, b := w.processes[0].m, w.processes[1].m
	w.store.hidden = memberPrefix + b.Name()
	w.runUntil(w.now + w.lease/2)
	a.changed = true // something else makes it count
	w.runUntil(w.now + w.lease/4)
	if len(a.living) != 1 {
		t.Fatalf("%d are living, want 1: the other one is hidden", len(a.living))
	}
	w.store.hidden = ""
	w.runUntil(w.now + w.lease/2)
	if len(a.living) != 2 {
		t.Errorf("%d are living, want 2", len(a.living))
	}
	w.settle(t, w.lease)
}

// A state that an old read lacked is not missing.
func TestStateOfAnOldRead(t *testing.T) {
	w := quiet(t, 2, 1)
	w.store.hidden = statePrefix + w.unitNames[0]
	for _, p := range w.processes {
		p.dead = len(p.workers) > 0
	}
	w.runUntil(w.now + 3*w.lease)
	if n := len(w.ownership()); n != 0 {
		t.Fatalf("%d units are watched without their state", n)
	}
	w.store.hidden = ""
	w.settle(t, w.lease)
}

// A state that the store has lost is missing.
func TestStateIsMissing(t *testing.T) {
	w := quiet(t, 2, 1)
	key := statePrefix + w.unitNames[0]
	have := w.store.entries[key]
	w.store.do(w.now, Request{Op: Delete, Key: key, Version: have.Version}, 0)
	delete(w.store.before, key)
	for _, p := range w.processes {
		p.dead = len(p.workers) > 0
	}
	w.runUntil(w.now + 3*w.lease)
	if !strings.Contains(w.bad, "as missing") {
		t.Errorf("nobody says that the state is missing: %q", w.bad)
	}
}

// An owner that ends before it has written that the state is missing leaves a successor that knows.
func TestStateIsStillMissing(t *testing.T) {
	for _, dying := range []int{1, 2} {
		w := quiet(t, 4, 1)
		key := statePrefix + w.unitNames[0]
		have := w.store.entries[key]
		w.store.do(w.now, Request{Op: Delete, Key: key, Version: have.Version}, 0)
		delete(w.store.before, key)
		for _, p := range w.processes {
			p.dead = len(p.workers) > 0
		}
		w.dying = dying
		w.runUntil(w.now + 9*w.lease)
		if w.dying > 0 || !strings.Contains(w.bad, "as missing") {
			t.Errorf("after %d such owners nobody says that the state is missing: %q, %d", dying, w.bad, w.dying)
		}
		if data, err := StateOf(Value{Data: stateRecord{data: lostState}.append(nil)}); err != nil || data != nil {
			t.Errorf("a missing state has %q (%v)", data, err)
		}
	}
}

// A record of a state that cannot be read is replaced: the unit's next owner is told that the state is missing.
func TestStateIsDamaged(t *testing.T) {
	w := quiet(t, 4, 1)
	key := statePrefix + w.unitNames[0]
	for _, p := range w.processes {
		p.dead = len(p.workers) > 0
	}
	have := w.store.entries[key]
	have.Data = []byte("\x00\xffs1")
	w.store.entries[key] = have
	delete(w.store.before, key)
	w.runUntil(w.now + 9*w.lease)
	if !strings.Contains(w.bad, "as missing") {
		t.Errorf("nobody says that the state is missing: %q", w.bad)
	}
	if record, err := readState(w.store.entries[key].Data); err != nil || record.term < 2 {
		t.Errorf("the record is not replaced: %q", w.store.entries[key].Data)
	}
}

// A record of a unit that cannot be read is written again. A living owner keeps the unit. Otherwise the record becomes free, and the state counts.
func TestUnitIsDamaged(t *testing.T) {
	for _, killed := range []int{0, 1, 4} {
		w := quiet(t, 4, 5)
		before := w.ownership()
		for _, v := range w.store.lists[unitPrefix] {
			v.Data = []byte("\x00\xffu1")
			delete(w.store.before, v.Key)
		}
		w.store.dirty(unitPrefix)
		for _, p := range w.processes[:killed] {
			p.dead = true
		}
		if killed == 4 { // those that begin know nothing
			w.start("new 1")
			w.start("new 2")
		}
		w.settle(t, 6*w.lease)
		for unit, p := range w.ownership() {
			if !before[unit].dead && before[unit] != p {
				t.Errorf("%d killed: %s is another member's, and its owner lives", killed, unit)
			}
		}
		for _, v := range w.store.lists[unitPrefix] {
			if _, err := readUnit(v.Data); err != nil {
				t.Errorf("%d killed: %s is still %q", killed, v.Key, v.Data)
			}
		}
		if w.missing > 0 {
			t.Errorf("%d killed: %d states count as missing", killed, w.missing)
		}
	}
}

// A store may show a living owner late that its record is damaged. Nobody takes the unit from it meanwhile.
func TestDamagedUnitOfLivingOwner(t *testing.T) {
	w := quiet(t, 2, 1)
	p := w.processes[0]
	if len(p.workers) > 0 {
		p = w.processes[1]
	}
	m, now := p.m, p.now()
	u := &m.units[0]
	values := []Value{{Key: u.key, Version: "damaged", Data: []byte("garbage")}}
	m.Requests()
	m.damaged(now, 0, "damaged")
	now.Mono += 100 * w.lease
	if m.lift(now, values); len(m.Requests()) > 0 {
		t.Error("the unit is taken from an owner that lives")
	}
	m.peers[u.owner].over = true
	if m.lift(now, values); len(m.Requests()) != 1 {
		t.Error("the record of an owner that is gone stays damaged")
	}
}

// A lease that cannot be read is written anew by its member, which keeps its units. If its member is killed it is over after its length, also for
// members that never saw it whole.
func TestLeaseIsDamaged(t *testing.T) {
	for _, killed := range []int{0, 1, 4} {
		w := quiet(t, 4, 8)
		before := w.ownership()
		names := map[*process]string{}
		for _, p := range w.processes {
			names[p] = p.m.Name()
		}
		for i, v := range w.store.lists[memberPrefix] {
			v.Data, v.Version = []byte("garbage"), Version(fmt.Sprint("damaged ", i))
			delete(w.store.before, v.Key)
		}
		w.store.dirty(memberPrefix)
		for _, p := range w.processes[:killed] {
			p.dead = true
		}
		if killed == 4 {
			w.start("new 1")
			w.start("new 2")
		}
		w.settle(t, 3*w.lease)
		for unit, p := range w.ownership() {
			if !before[unit].dead && (before[unit] != p || names[p] != p.m.Name()) {
				t.Errorf("%d killed: %s is another life's, and its owner lives", killed, unit)
			}
		}
		for _, v := range w.store.lists[memberPrefix] {
			if _, err := readMember(v.Data); err != nil {
				t.Errorf("%d killed: %s is still %q", killed, v.Key, v.Data)
			}
		}
		for _, p := range w.processes {
			for key, n := range p.unreadable {
				if n != 1 {
					t.Errorf("%d killed: %s was told %d times by %s", killed, key, n, p.id)
				}
			}
			if !p.dead && len(p.unreadable) == 0 {
				t.Errorf("%d killed: %s has told nothing", killed, p.id)
			}
		}
	}
}

// A lease that was marked as over, and was damaged then, is not taken up again: others have its units.
func TestMarkIsDamaged(t *testing.T) {
	w := quiet(t, 3, 6)
	p := w.processes[1]
	name := p.m.Name()
	p.cutTil = w.now + 3*w.lease
	w.runUntil(w.now + 2*w.lease)
	v := w.store.entries[memberPrefix+name]
	if string(v.Data) != "m1 over" {
		t.Fatalf("the lease is %q", v.Data)
	}
	v.Data, v.Version = []byte("garbage"), "damaged"
	delete(w.store.before, v.Key)
	w.store.dirty(memberPrefix)
	w.settle(t, 3*w.lease)
	if p.m.Name() == name {
		t.Error("the life goes on")
	}
	if string(v.Data) != "m1 over" {
		t.Errorf("the mark is still %q", v.Data)
	}
}

// A member renews one lease, however many units it has: while nothing is found, nothing else is written.
func TestOneLease(t *testing.T) {
	for _, units := range []int{1, 300} {
		w := quiet(t, 1, units)
		writes := map[string]int{}
		wrote := w.store.wrote
		w.store.wrote = func(key string, data []byte) {
			writes[prefixOf(key)]++
			wrote(key, data)
		}
		const leases = 10
		w.runUntil(w.now + leases*w.lease)
		if n := writes[memberPrefix]; len(writes) != 1 || n < leases*pollPart || n > leases*pollPart*8/7+1 {
			t.Errorf("%d units: %v were written in %d leases", units, writes, leases)
		}
	}
}

// Marks of ended leases are removed after a while.
func TestGraves(t *testing.T) {
	w := quiet(t, 3, 9)
	w.processes[0].dead = true
	w.settle(t, 3*w.lease)
	if n := len(w.store.lists[memberPrefix]); n != 3 {
		t.Fatalf("%d leases are stored, want 3", n)
	}
	w.settle(t, (graveLeases+3)*w.lease)
	if n := len(w.store.lists[memberPrefix]); n != 2 {
		t.Errorf("%d leases are stored, want 2", n)
	}
}

// Each clock alone shows that a lease is over, and both at once that it is not.
func TestLease(t *testing.T) {
	l := lease{length: 10 * time.Second, held: true, since: Instant{Mono: time.Hour, Wall: 2 * time.Hour}}
	for _, c := range []struct{ mono, wall, want time.Duration }{
		{0, 0, 9 * time.Second},
		{4 * time.Second, 4 * time.Second, 5 * time.Second},
		{time.Second, 20 * time.Second, 0}, // suspended
		{20 * time.Second, time.Second, 0}, // set back
		{3 * time.Second, -time.Hour, 6 * time.Second},
		{9 * time.Second, 0, 0},
	} {
		if got := l.left(Instant{l.since.Mono + c.mono, l.since.Wall + c.wall}); got != c.want {
			t.Errorf("after %v and %v there are %v left, want %v", c.mono, c.wall, got, c.want)
		}
	}
}

func TestRecords(t *testing.T) {
	for _, r := range []memberRecord{{}, {number: 7}, {number: 8, away: true}, {over: true}} {
		if got, err := readMember(r.append(nil)); err != nil || got != r {
			t.Errorf("%+v: %+v, %v", r, got, err)
		}
	}
	for _, r := range []unitRecord{{}, {term: 3, owner: "a"}, {term: 1 << 60, next: "b"}, {term: 4, owner: "a", home: "c"}, {term: 5, home: "c"}, {term: 6, owner: "a", lost: 5}, {term: 7, next: "b", home: "c", born: "x", lost: 7}, {term: 1, owner: "a", born: "y"}} {
		if got, err := readUnit(r.append(nil)); err != nil || (unitRecord{got.term, string(got.owner), string(got.next), string(got.home), string(got.born), got.lost}) != r {
			t.Errorf("%+v: %+v, %v", r, got, err)
		}
	}
	for _, text := range []string{"", "m1", "m2 live 1", "m1 live x", "m1 live ", "u1 1 a", "u1 1 a b ", "u1 1 a b c d", "u1 1 a b c d ", "u1 1 a b c d x", "u1 1 a b c d 5 6", "u2 1 a b", "u1 -1 a b", "s1 1 2 3", "s1 1 2\n", "s1 1 2 x\n"} {
		if _, err := readMember([]byte(text)); err == nil {
			t.Errorf("member %q", text)
		}
		if _, err := readUnit([]byte(text)); err == nil {
			t.Errorf("unit %q", text)
		}
		if _, err := readState([]byte(text)); err == nil {
			t.Errorf("state %q", text)
		}
	}
	r := stateRecord{1, 2, 3, []byte("a\nb")}
	if got, err := readState(r.append(nil)); err != nil || fmt.Sprint(got) != fmt.Sprint(r) {
		t.Errorf("%v: %v, %v", r, got, err)
	}
	if got := escape("kafka:a.b/3"); got != "kafka=3Aa=2Eb=2F3" {
		t.Error(got)
	}
	for _, name := range []string{"", "a", "=", "=3", "é~@ /", "a=2Eb", "\x00\xff"} {
		if got := unescape(escape(name)); got != name || strings.ContainsAny(escape(name), "./@~ ") {
			t.Errorf("%q became %q and %q", name, escape(name), got)
		}
	}
}

// In a rolling update each member in turn leaves and comes again under its name. No unit moves more than twice: away, and home. The
// next one leaves when the one before it has its share.
func TestRollingUpdate(t *testing.T) {
	for _, c := range []struct{ members, units int }{{1, 3}, {2, 3}, {3, 3}, {3, 10}, {3, 30}, {4, 3}, {5, 16}, {7, 100}, {9, 301}} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("%d members, %d units, seed %d", c.members, c.units, seed), func(t *testing.T) {
				w := newWorld(seed, simSize{members: c.members, units: c.units}, noFault)
				w.runUntil(3 * w.lease)
				w.settled()
				before := w.moved()
				order := w.rng.Perm(c.members)
				for _, i := range order {
					p := w.processes[i]
					p.run(func() { p.leaving = true; p.m.Leave() })
					w.runUntil(w.now + w.lease/2 + time.Duration(w.rng.Int64N(int64(2*w.lease))))
					if !p.dead {
						t.Fatalf("%s has not left", p.id)
					}
					p = w.start(p.id)
					for end := w.now + 2*w.lease; !p.m.HasShare() && w.now < end; {
						w.runUntil(w.now + w.lease/20)
					}
				}
				w.settle(t, 2*w.lease)
				for unit, n := range w.moved() {
					if n -= before[unit]; n > 2 {
						t.Errorf("%s moved %d times", unit, n)
					}
				}
			})
		}
	}
}

// moved is how many owners each unit had.
func (w *world) moved() map[string]int {
	all := map[string]int{}
	for who := range w.owners {
		unit, _, _ := strings.Cut(who, " ")
		all[unit]++
	}
	return all
}
