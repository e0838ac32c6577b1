package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/pattern"
)

// openFinding is a finding whose members have not all settled: it can still be
// upgraded once, and withdrawn.
type openFinding struct {
	Finding finding.Finding

	due      int64    // it may leave when the watermark has passed this: see waiting.go
	sooner   int64    // or when closed sessions have gone on behind this; 0: not by them
	serial   int      // in the order of detection
	members  []uint32 // transactions on the cycle, held in memory until it is final
	edges    []incremental.EdgeID
	setAside []setAsideEdge  // the set-aside edges that it reports
	level    isolation.Level // of the view that refused the edge
	weakest  []isolation.Level
	severity int
	versions []uint32 // the finding rests on their one writer each, when it is not a cycle of edges
	about    uint32   // the version that an anomaly is about, while it is published
	shares   []uint64 // the keys by which it is told together with others: see faults.go
	rests    []uint64 // ValueKeys that an edge at a retired transaction rests on: see backInTime
	values   []uint64 // ValueKeys, for findings that want of a writer
	shown    []uint32 // transactions beyond the members whose reads show an order, held as well
	proofs   [][]uint64
	upgraded bool
	waiting  bool // in registry.accusing
	closed   bool
	lacked   []lacked // what has to be shown of it: see shown.go
	mayLack  []lacked // what is shown by now, or has to be once a record is missing
	solid    bool     // no delete of a list explains it: see waiting.go
	untold   []uint32 // the transactions of its witness, while its texts are to be made: see untold.go
	byLists  bool     // it rests on a complete capture only since somebody may have deleted a list
}

// setAsideEdge is a set-aside edge. Its ends need not be members, so that it may be gone,
// and its number be used again, while the finding is open.
type setAsideEdge struct {
	ID       incremental.EdgeID
	From, To incremental.Vertex
	// Unshown says that the withdrawn finding rested on nobody having deleted a list unseen, or was not
	// certain for another reason.
	Unshown bool `json:",omitempty"`
	// Joined says that nobody has asked whether the edge closes a cycle: see joinTold.
	Joined bool `json:",omitempty"`
}

func setAsideOf(g *incremental.Graph, id incremental.EdgeID) setAsideEdge {
	e := g.Edge(id)
	return setAsideEdge{ID: id, From: e.From, To: e.To}
}

// there says whether the edge is still set aside.
func (a setAsideEdge) there(g *incremental.Graph) bool {
	e := g.Edge(a.ID)
	return e.From == a.From && e.To == a.To && e.SetAside != 0 && g.Known(a.From) && g.Known(a.To)
}

// registry holds the open findings in the order of their detection. Lookups are
// off the hot path: nothing is looked up while nothing is open.
type registry struct {
	list []*openFinding
	made int
	by   map[uint32][]*openFinding // by member, in the order of detection: a restart keeps it
	ids  map[string]*openFinding
	// revisions of withdrawn findings, which may come back.
	revisions map[string]int
	// accusing are findings whose members have retired and that a late record can
	// still refute, oldest first.
	accusing []*openFinding
	// recent are final findings with the values that they rest on, oldest first: a
	// writer that comes after all can still refute them.
	recent []recentFinding
}

// recentFinding is a final finding that can be withdrawn.
type recentFinding struct {
	Finding finding.Finding
	Weakest []string
	Wants   []uint64 // ValueKeys: all of these must have a writer for it to be void
	Values  []uint64 // ValueKeys of the values that it rests on: each has one writer
	Proofs  [][]uint64
	IDs     []uint64 // hashes, of members and of those whose reads show an order
	Shares  []uint64 `json:",omitempty"`
	Rows    []string `json:",omitempty"` // keys at which a deletion takes it back that began at End or before: see rows.go
	End     int64    `json:",omitempty"`
	Solid   bool     `json:",omitempty"` // as openFinding
	Unshown bool     `json:",omitempty"` // it rests on a range without a key that may be a counter: see countersTold
	// Observed are the patterns of keys whose plain values it rests on.
	Observed []pattern.ID `json:",omitempty"`
	Ended    int64        // when the last of those was over that it names; math.MaxInt64 if some have no times
}

// said says whether a final finding says of the same members all that f does.
func (r *registry) said(f *openFinding) bool {
	return slices.ContainsFunc(r.recent, func(x recentFinding) bool {
		return x.Finding.State != finding.Withdrawn && f.alike(&x.Finding) &&
			!slices.ContainsFunc(f.Finding.Refutes, func(l string) bool {
				return !slices.Contains(x.Finding.Refutes, l) && !slices.Contains(x.Finding.AlsoRefutes, l)
			})
	})
}

// alike says whether g is of the members that f is of, as first reported.
func (f *openFinding) alike(g *finding.Finding) bool {
	return f.Finding.ID[:membersDigits] == g.ID[:membersDigits]
}

// maxRecent bounds them; a finding is about 2 KiB.
const maxRecent = 512

func (r *registry) init() {
	r.by = map[uint32][]*openFinding{}
	r.ids = map[string]*openFinding{}
	r.revisions = map[string]int{}
}

func (r *registry) add(f *openFinding) {
	r.made++
	f.serial = r.made
	r.list = append(r.list, f)
	r.ids[f.Finding.ID] = f
	r.link(f, f.members)
}

func (r *registry) link(f *openFinding, members []uint32) {
	for _, n := range members {
		if !slices.Contains(r.by[n], f) {
			fs := r.by[n]
			at := len(fs)
			for at > 0 && fs[at-1].serial > f.serial {
				at--
			}
			r.by[n] = slices.Insert(fs, at, f)
		}
	}
}

// unjoin takes the edge out of the findings of n that it has joined, and says whether there are any.
func (r *registry) unjoin(n uint32, a setAsideEdge) (is bool) {
	a.Joined = true
	for _, f := range r.by[n] {
		if i := slices.Index(f.setAside, a); i >= 0 {
			f.setAside, is = slices.Delete(f.setAside, i, i+1), true
		}
	}
	return is
}

func (r *registry) unlink(f *openFinding) {
	for _, n := range f.members {
		fs := slices.DeleteFunc(r.by[n], func(g *openFinding) bool { return g == f })
		if len(fs) == 0 {
			delete(r.by, n)
		} else {
			r.by[n] = fs
		}
	}
}

// move makes f one of these members; f.members is the caller's to change.
func (r *registry) move(f *openFinding, members []uint32) {
	r.unlink(f)
	r.link(f, members)
}

// of is the open finding that a new one joins, or whose place it takes. It is the finding with the same
// id. Otherwise it is a finding about the same members that refutes all levels of the new one, or only
// some of them. It is nil if there is none.
func (r *registry) of(f *openFinding) *openFinding {
	if old := r.ids[f.Finding.ID]; old != nil || len(f.members) == 0 {
		return old
	}
	for _, old := range r.by[f.members[0]] {
		if !old.closed && f.alike(&old.Finding) && (covers(old.weakest, f.weakest) || !old.upgraded && old.lessThan(f)) {
			return old
		}
	}
	return nil
}

// forEach calls fn for the open findings that n is a member of.
func (r *registry) forEach(n uint32, fn func(*openFinding)) {
	if len(r.by) == 0 {
		return
	}
	for _, f := range slices.Clone(r.by[n]) {
		if !f.closed {
			fn(f)
		}
	}
}

// close forgets f.
func (r *registry) close(f *openFinding) {
	f.closed = true
	delete(r.ids, f.Finding.ID)
	r.unlink(f)
	if k := len(r.list); k > 64 && r.list[0].closed {
		r.list = slices.DeleteFunc(r.list, func(g *openFinding) bool { return g.closed })
	}
}
