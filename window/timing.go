package window

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/trial"
)

// In a stream an order in time is followed from the first record on (trial.Follower), where the contract says
// that all is told. While there is one, the strong level holds, with counters, sets and reads of
// nothing. An instant is looked at when all transactions that had begun by then must have come.
//
// Other streams are spared the work. Their first transactions wait until some key needs an order in
// time. If none does for long, nothing can be followed later, since what the first ones did is gone.

// maxDue bounds the transactions that wait to be followed, 56 bytes each, and maxIdle the transactions
// that wait until some key needs an order in time. Their records are kept in memory, where the window
// mostly keeps them anyway.
const maxDue, maxIdle = 1 << 19, 1 << 12

// timing is the theory of orders in time.
type timing struct {
	*core
	clock  *clock
	asking *asking
	told   narrated
}

// narrated is the memory of timing.
type narrated struct {
	Due       upcomings // to begin, by Start, End and ID
	Begun     upcomings // to end, by Until and ID
	Next      int64     // the next ID
	Reached   int64     // all before it is followed
	Longest   int64     // of a transaction, ns: so much later one of unknown outcome may take effect
	Followers []*trial.Follower
	Off       string // why nothing is followed any more
}

// upcoming is a transaction that waits for its start, or after it for its end.
type upcoming struct {
	Start, End, Until int64
	ID                int64
	Name              uint64 // infer.Info.ID
	Txn               uint32
}

func byStart(a, b upcoming) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.ID, b.ID))
}

func byUntil(a, b upcoming) int {
	return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.End, b.End), cmp.Compare(a.ID, b.ID))
}

// insert puts x into its place. Most come near the end, so that is looked at in steps that double.
func insert(to upcomings, x upcoming, compare func(a, b upcoming) int) upcomings {
	from, end := len(to), len(to)
	for step := 1; from > 0 && compare(to[from-1], x) > 0; step *= 2 {
		from, end = max(from-step, 0), from-1
	}
	at, _ := slices.BinarySearchFunc(to[from:end], x, compare)
	return slices.Insert(to, from+at, x)
}

// upcomings are saved as text, since there may be many. Each is saved as its differences from the one
// before, some 15 bytes.
type upcomings []upcoming

// numbers are the parts of x.
func (x *upcoming) numbers() [6]int64 {
	return [6]int64{x.Start, x.End - x.Start, x.Until - x.End, x.ID, int64(x.Name), int64(x.Txn)}
}

// MarshalText writes u.
func (u upcomings) MarshalText() (text []byte, err error) {
	var last [6]int64
	var all []byte
	for i := range u {
		now := u[i].numbers()
		for k := range now {
			all = binary.AppendVarint(all, now[k]-last[k])
		}
		last = now
	}
	return base64.StdEncoding.AppendEncode(nil, all), nil
}

// UnmarshalText reads what MarshalText wrote.
func (u *upcomings) UnmarshalText(text []byte) error {
	all, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("waiting transactions: %w", err)
	}
	*u = nil
	for x := [6]int64{}; len(all) > 0; {
		for k := range x {
			d, n := binary.Varint(all)
			if n <= 0 {
				return errors.New("waiting transactions: a number is cut off")
			}
			x[k], all = x[k]+d, all[n:]
		}
		*u = append(*u, upcoming{Start: x[0], End: x[0] + x[1], Until: x[0] + x[1] + x[2], ID: x[3], Name: uint64(x[4]), Txn: uint32(x[5])})
	}
	return nil
}

// note takes n, which did not abort.
func (g *timing) note(n uint32, t *event.Txn, start, end int64) {
	x := &g.told
	switch {
	case x.Off != "" || g.cfg.Unbounded:
		return
	case !g.allTold():
		g.stop(g.asking.untold())
		return
	case t.Flags&event.HasTimes == 0:
		g.stop(offTimeless)
		return
	case len(x.Due) >= maxDue:
		g.stop(offCrowded)
		return
	case x.Next > 0 && start < x.Reached:
		g.stop(offLate)
		return
	}
	if x.Next == 0 {
		x.Reached = math.MinInt64
	}
	g.infer.Keep(n)
	x.Longest = max(x.Longest, min(end-start, int64(g.cfg.MaxTxn)))
	until := trial.Until(end, t.Status == event.Unknown, int64(g.cfg.Contract.ClockDrift), x.Longest)
	x.Due = insert(x.Due, upcoming{start, end, until, x.Next, g.infer.Info(n).ID, n}, byStart)
	x.Next++
}

// again forgets the record that n's has replaced. 0 stands for no record.
func (g *timing) again(n uint32) {
	x := &g.told
	if x.Off != "" || g.cfg.Unbounded {
		return
	}
	at := -1
	if n != 0 {
		name := g.infer.Info(n).ID
		at = slices.IndexFunc(x.Due, func(d upcoming) bool { return d.Name == name })
	}
	if at < 0 { // it has begun, or it had aborted: in both cases it is not in this list
		g.stop(offReplaced)
		return
	}
	g.infer.LetGo(x.Due[at].Txn)
	x.Due = slices.Delete(x.Due, at, at+1)
}

// stop ends it.
func (g *timing) stop(why string) {
	for _, d := range g.told.Due {
		g.infer.LetGo(d.Txn)
	}
	g.told = narrated{Off: why}
}

// needed says whether there are reads that give no dependency.
func (g *timing) needed() bool {
	c := g.infer.Counters
	return c.Countable+c.Ambiguous+c.Repeated+c.Emptied+c.Repeating > 0
}

// start begins to follow if some key needs it.
func (g *timing) start() bool {
	x := &g.told
	if x.Off != "" || g.cfg.Unbounded || len(x.Due) == 0 {
		return false
	}
	if g.needed() {
		x.Followers = []*trial.Follower{
			trial.NewFollower(trial.Base(isolation.Serializable)), trial.NewFollower(trial.Base(isolation.SnapshotIsolation)),
		}
		return true
	}
	if len(x.Due) > maxIdle {
		g.stop(offIdle)
	}
	return false
}

// follow looks at all instants before the time.
func (g *timing) follow(before int64) {
	x := &g.told
	if x.Followers == nil && !g.start() {
		return
	}
	for {
		begins := len(x.Due) > 0 && x.Due[0].Start < before
		ends := len(x.Begun) > 0 && x.Begun[0].Until < before
		switch {
		case !begins && !ends:
			return
		case begins && (!ends || x.Due[0].Start <= x.Begun[0].Until):
			if !g.begin() {
				return
			}
		default:
			d := x.Begun[0]
			x.Begun = x.Begun[1:]
			x.Reached = max(x.Reached, d.Until)
			for _, f := range x.Followers {
				f.End(d.ID)
			}
		}
	}
}

// begin begins the first that is due; false if nothing is followed any more.
func (g *timing) begin() bool {
	x := &g.told
	d := x.Due[0]
	x.Due = x.Due[1:]
	x.Reached = max(x.Reached, d.Start)
	r := g.record(d.Txn)
	g.infer.LetGo(d.Txn)
	x.Begun = insert(x.Begun, d, byUntil)
	for _, f := range x.Followers {
		f.Begin(d.ID, &r, d.Start, d.End)
	}
	if !slices.ContainsFunc(x.Followers, func(f *trial.Follower) bool { return f.Failed == "" }) {
		g.stop(x.Followers[0].Failed)
		return false
	}
	return true
}

// allTold says whether the records are all that there is to explain. An order explains each value, whoever
// wrote it, so values may repeat. No order by numbers is followed.
func (g *timing) allTold() bool { return g.asking.allRecorded() && g.numbers() == trial.NoNumbers }

// stands says whether an order in time shows the level so far.
func (g *timing) stands(l isolation.Level) bool {
	x := &g.told
	if x.Off != "" || len(x.Followers) == 0 || !g.allTold() {
		return false
	}
	return slices.ContainsFunc(x.Followers, func(f *trial.Follower) bool {
		return f.Met && f.Failed == "" && g.strongest(isolation.Base(f.Base), true).Implies(l)
	})
}

// restore takes what was saved.
func (g *timing) restore(x *narrated) {
	if x == nil { // by an earlier version
		x = &narrated{Off: offBefore}
	}
	g.told = *x
	for _, f := range g.told.Followers {
		f.Restored()
	}
}
