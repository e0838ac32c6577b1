package window

import (
	"math"
	"slices"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/zeebo/xxh3"
)

// One fault, one finding. Violations of one anomaly that share a data edge are told as one: the first,
// with a count of the others. One wrong read is on many cycles, and in the causal past of all that
// comes behind it. All of these findings stay in the registry, hold their levels refuted, and set their
// edges aside. Only fewer are told. A finding that refutes a level which the first one does not is told
// by itself. When the first one falls, the findings that it stood for are told.

// maxFaults bounds those that are remembered, and maxSilent the findings that one of them
// stands for by name: more are counted only.
const (
	maxFaults = 2048
	maxSilent = 4096
	// countEvery is how often a finding is told again because its count has grown.
	countEvery = int64(time.Minute)
	// maxShares bounds the data edges that a finding is known by.
	maxShares = 128
	// maxJoined bounds the edges that are known. Beyond it, no fault takes the edges of a
	// finding that joins it.
	maxJoined = 1 << 17
)

// fault is a finding that was told, and those that it stands for.
type fault struct {
	Told   finding.Finding
	Edges  []uint64 // of all that joined it
	Silent []string // ids, in the order of detection
	Count  int64    // of findings, the one that was told included
	Said   int64    // the count when it was delivered last
	At     int64    // the watermark then
	Extra  int      // revisions because of counts
	Last   int64    // when the last transaction of those that joined it ended; 0: not known
	serial int      // in the order of detection
}

// faults remembers the latest ones.
type faults struct {
	list   []*fault
	made   int
	byEdge map[uint64][]*fault
	byID   map[string]*fault // of the finding that was told
	silent map[string]*fault
	// fallen are the faults whose finding was withdrawn in the step in work. The findings that
	// it stood for are told at the end of the step, since they may fall with it.
	fallen []*fault
	next   int64 // the least watermark at which a count is due to be told
}

func newFaults(list []*fault) faults {
	fs := faults{list: list, byEdge: map[uint64][]*fault{}, byID: map[string]*fault{}, silent: map[string]*fault{}}
	for _, x := range list {
		fs.enter(x)
	}
	fs.earliest()
	return fs
}

// earliest finds when a count is due next.
func (fs *faults) earliest() {
	fs.next = math.MaxInt64
	for _, x := range fs.list {
		if x.Count != x.Said {
			fs.next = min(fs.next, x.At+countEvery)
		}
	}
}

func (fs *faults) enter(x *fault) {
	fs.made++
	x.serial = fs.made
	fs.byID[x.Told.ID] = x
	for _, e := range x.Edges {
		fs.byEdge[e] = append(fs.byEdge[e], x)
	}
	for _, id := range x.Silent {
		fs.silent[id] = x
	}
}

// leave forgets x, and keeps the findings that it stands for.
func (fs *faults) leave(x *fault) {
	delete(fs.byID, x.Told.ID)
	for _, e := range x.Edges {
		others := slices.DeleteFunc(fs.byEdge[e], func(y *fault) bool { return y == x })
		if fs.byEdge[e] = others; len(others) == 0 {
			delete(fs.byEdge, e)
		}
	}
	if len(fs.list) > 0 && fs.list[0] == x { // mostly the oldest
		fs.list[0] = nil
		fs.list = fs.list[1:]
		return
	}
	fs.list = slices.DeleteFunc(fs.list, func(y *fault) bool { return y == x })
}

// unname forgets whom x stands for.
func (fs *faults) unname(x *fault) {
	for _, id := range x.Silent {
		delete(fs.silent, id)
	}
}

// shares are hashes of w's anomaly with each of its data edges. The edges of the pasts that
// force an edge are included. An anti-dependency or a forced order is known by the read that it
// rests on. Many may have overwritten the version that the read should not have seen. So is one that a way out
// of a choice supposes: it is an edge of f only.
func shares(w *finding.Witness, f *finding.Finding) (all []uint64) {
	anomaly := f.Anomaly
	add := func(what string, from, to int, key string) {
		text := anomaly + "\x00" + what + "\x00" + key + "\x00" + w.Txns[to].ID
		if from >= 0 {
			text += "\x00" + w.Txns[from].ID
		}
		if h := xxh3.HashString(text); len(all) < maxShares && !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	for i := range w.Edges {
		switch e := &w.Edges[i]; {
		case e.Label&infer.Saturated != 0 && e.Shown >= 0:
			add("read", -1, e.Shown, e.Key)
		case e.Label&infer.RW != 0 && anomaly == lostUpdate: // of three that replaced one version two were lost
			add("rw", e.From, e.To, e.Key)
		case e.Label&infer.RW != 0:
			add("read", -1, e.From, e.Key)
		case e.Label&infer.WR != 0:
			add("wr", e.From, e.To, e.Key)
		case e.Label&(infer.WW|infer.OtherRow) != 0:
			add("ww", e.From, e.To, e.Key)
		}
	}
	for i := range f.Edges {
		e := &f.Edges[i]
		at := slices.IndexFunc(w.Txns, func(t event.Record) bool { return t.ID == e.From })
		if len(w.Choices) > 0 && e.Derived && e.Type == "rw" && at >= 0 {
			add("read", -1, at, e.Key)
		}
	}
	for i := range w.Edges {
		for _, e := range w.Edges[i].Past {
			if e.Label&infer.WR != 0 {
				add("wr", e.From, e.To, e.Key)
			}
		}
	}
	return all
}

// standsFor says whether all that f says of levels is said by the fault's finding too.
func (x *fault) standsFor(f *finding.Finding) bool {
	t := &x.Told
	return t.Expected == f.Expected && (t.Certain || !f.Certain) && !slices.ContainsFunc(f.Refutes, func(l string) bool {
		return !slices.Contains(t.Refutes, l) && !slices.Contains(t.AlsoRefutes, l)
	})
}

// know gives x edges that it did not have.
func (fs *faults) know(x *fault, edges []uint64) {
	for _, e := range edges {
		if owners := fs.byEdge[e]; len(fs.byEdge) < maxJoined && !slices.Contains(owners, x) {
			fs.byEdge[e] = append(owners, x)
			x.Edges = append(x.Edges, e)
		}
	}
}

// standing is the first fault with one of the edges that stands for f, nil if there is none.
func (fs *faults) standing(f *finding.Finding, edges []uint64) (first *fault) {
	for _, e := range edges {
		for _, x := range fs.byEdge[e] {
			if (first == nil || x.serial < first.serial) && x.standsFor(f) {
				first = x
			}
		}
	}
	return first
}

// tellFault hands f out, unless another finding stands for it. It says whether it did. edges are the
// edges that f may share with other findings.
func (s *reports) tellFault(f *finding.Finding, edges []uint64) bool {
	fs := &s.faults
	if x := fs.byID[f.ID]; x != nil {
		s.tellAgain(x, f, edges)
		return true
	}
	if x := fs.silent[f.ID]; x != nil {
		if f.State != finding.Withdrawn && x.standsFor(f) {
			return false
		}
		delete(fs.silent, f.ID)
		x.Silent = slices.DeleteFunc(x.Silent, func(id string) bool { return id == f.ID })
		x.Count--
		fs.next = min(fs.next, x.At+countEvery)
		if f.State == finding.Withdrawn {
			return false
		}
	}
	if f.Kind != finding.KindViolation || len(edges) == 0 || f.State == finding.Withdrawn {
		s.hand(*f)
		return true
	}
	if x := fs.standing(f, edges); x != nil {
		s.joinFault(x, f, edges)
		return false
	}
	if len(fs.list) >= maxFaults {
		old := fs.list[0]
		s.clock.recount(old)
		fs.leave(old)
		fs.unname(old)
	}
	x := &fault{Told: *f, Edges: edges, Count: 1, Said: 1, At: s.clock.watermark}
	fs.list = append(fs.list, x)
	fs.enter(x)
	s.hand(*f)
	return true
}

// tellAgain hands out a new revision of x's finding.
func (s *reports) tellAgain(x *fault, f *finding.Finding, edges []uint64) {
	f.Revision += x.Extra
	if f.State == finding.Withdrawn {
		s.open.revisions[f.ID] = f.Revision
		s.hand(*f)
		s.faults.leave(x)
		s.faults.fallen = append(s.faults.fallen, x)
		return
	}
	s.faults.know(x, edges) // a worse cycle took its place
	f.Count, f.LastAt = x.count(), x.lastAt()
	x.Told = *f
	if f.State != finding.Final { // which is not delivered by itself: its count is told when it is due
		x.Said, x.At = x.Count, s.clock.watermark
	}
	s.hand(*f)
}

// joinFault lets x stand for f, and for what shares an edge with f.
func (s *reports) joinFault(x *fault, f *finding.Finding, edges []uint64) {
	s.faults.know(x, edges)
	s.fall(f.ID) // if it waited
	if len(x.Silent) >= maxSilent {
		if f.State == finding.Final {
			return // it was counted when it was found
		}
	} else {
		x.Silent = append(x.Silent, f.ID)
		s.faults.silent[f.ID] = x
	}
	x.Count++
	x.Last = max(x.Last, s.endOf(f.ID))
	s.Counters.Merged++
	s.faults.next = min(s.faults.next, x.At+countEvery)
}

// count is the finding's count: 0 where it stands for itself alone.
func (x *fault) count() int64 {
	if x.Count < 2 {
		return 0
	}
	return x.Count
}

// lastAt is when the last of them was seen, in the finding's form.
func (x *fault) lastAt() string {
	if x.Count < 2 || x.Last == 0 {
		return ""
	}
	return wallTime(x.Last)
}

// endOf is when the last transaction of a registered finding ended; 0: its records have no times.
func (s *reports) endOf(id string) int64 {
	end := int64(math.MaxInt64)
	if f := s.open.ids[id]; f != nil {
		end = s.endedAt(f)
	} else if i := slices.IndexFunc(s.open.recent, func(r recentFinding) bool { return r.Finding.ID == id }); i >= 0 {
		end = s.open.recent[i].Ended
	}
	if end == math.MaxInt64 || end == math.MinInt64 {
		return 0
	}
	return end
}

// recount tells the finding again if its count is another. A final finding is not delivered by
// itself, so it goes out as provisional too, with the same revision.
func (k *clock) recount(x *fault) {
	if x.Count == x.Said || x.Told.State == finding.Withdrawn {
		return
	}
	x.Extra++
	x.Told.Revision++
	x.Told.Count, x.Told.LastAt, x.Said, x.At = x.count(), x.lastAt(), x.Count, k.watermark
	x.Told.DetectedAt = k.detectedAt()
	if told := x.Told; told.State == finding.Final {
		told.State = finding.Provisional
		k.hand(told)
	}
	k.hand(x.Told)
}

// uncounted says whether some finding stands for more than was told.
func (fs *faults) uncounted() bool {
	return slices.ContainsFunc(fs.list, func(x *fault) bool { return x.Count != x.Said && x.Told.State != finding.Withdrawn })
}

// recountAll is for the end of an input, and of the service.
func (s *reports) recountAll() {
	for _, x := range s.faults.list {
		s.clock.recount(x)
	}
	s.faults.earliest()
}

// settleFaults is for the end of a step: it tells what fallen findings stood for, and the
// counts that are due.
func (s *reports) settleFaults() {
	fs := &s.faults
	for len(fs.fallen) > 0 {
		x := fs.fallen[0]
		fs.fallen = fs.fallen[1:]
		fs.unname(x)
		for _, id := range x.Silent {
			s.promote(id)
		}
	}
	if s.cfg.Unbounded || s.clock.watermark < fs.next || s.closed {
		return
	}
	for _, x := range fs.list {
		if s.clock.watermark-x.At >= countEvery {
			s.clock.recount(x)
		}
	}
	fs.earliest()
}

// promote tells the finding id, if it still stands. Another finding had stood for it. The first of them
// is told by itself. The other findings are told with it if they share an edge.
func (s *reports) promote(id string) {
	var told finding.Finding
	var edges []uint64
	if f := s.open.ids[id]; f != nil {
		if s.waiting.index(id) >= 0 {
			return
		}
		told, edges = f.Finding, f.shares
	} else {
		i := slices.IndexFunc(s.open.recent, func(r recentFinding) bool { return r.Finding.ID == id && r.Finding.State != finding.Withdrawn })
		if i < 0 {
			return
		}
		told, edges = s.open.recent[i].Finding, s.open.recent[i].Shares
	}
	told.DetectedAt = s.clock.detectedAt()
	state := told.State
	told.State = finding.Provisional // a final one is not delivered by itself
	if !s.tellFault(&told, edges) {
		return
	}
	s.countFound(&told)
	if state == finding.Final {
		told.State = state
		s.tellFault(&told, edges)
		delete(s.unsure, id)
	}
}
