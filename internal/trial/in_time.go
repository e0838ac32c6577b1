package trial

import (
	"cmp"
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// Timed is one of several transactions that may have committed.
type Timed struct {
	Start, End int64
	Unknown    bool
	Record     func() event.Record
}

// guesses are tried one after the other. Each says how many orders are kept. It also says for how long a
// transaction of unknown outcome may take effect after its end, in longest transactions; 0: for ever.
var guesses = [...]struct{ width, lingers int }{{4, 1}, {maxRuns, 1}, {maxRuns, 0}, {16 * maxRuns, 1}}

// InTime says whether a [Follower] finds an order of all of them from an empty database.
func InTime(l Base, txns []Timed, drift int64) bool {
	longest := int64(0)
	for _, t := range txns {
		longest = max(longest, t.End-t.Start)
	}
	for _, g := range guesses {
		lingers := longest * int64(g.lingers)
		if g.lingers == 0 {
			lingers = math.MaxInt64 / 4
		}
		var all []instant
		for i, t := range txns {
			until := Until(t.End, t.Unknown, drift, lingers)
			all = append(all, instant{t.Start, false, int64(i), t.End}, instant{until, true, int64(i), t.End})
		}
		slices.SortFunc(all, instant.compare)
		f := NewFollower(l)
		if f.Width = g.width; follow(f, txns, all) {
			return true
		}
	}
	return false
}

func follow(f *Follower, txns []Timed, all []instant) bool {
	for _, x := range all {
		switch t := &txns[x.id]; {
		case f.Failed != "":
			return false
		case x.ends:
			f.End(x.id)
		default:
			r := t.Record()
			f.Begin(x.id, &r, t.Start, t.End)
		}
	}
	return f.Failed == ""
}

// Until is up to when a transaction that ended may take effect.
func Until(end int64, unknown bool, drift, lingers int64) int64 {
	after := drift
	if unknown {
		after += lingers
	}
	if end > math.MaxInt64-after {
		return math.MaxInt64
	}
	return end + after
}

// instant is when a transaction begins, or has taken effect. A beginning at
// the instant of an end comes before it.
type instant struct {
	at   int64
	ends bool
	id   int64
	end  int64
}

func (x instant) compare(y instant) int {
	switch {
	case x.at != y.at:
		return cmp.Compare(x.at, y.at)
	case x.ends != y.ends && x.ends:
		return 1
	case x.ends != y.ends:
		return -1
	}
	return cmp.Or(cmp.Compare(x.end, y.end), cmp.Compare(x.id, y.id))
}
