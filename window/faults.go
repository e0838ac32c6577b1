package window

import (
	"slices"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/zeebo/xxh3"
)

// One fault, one finding: violations of one anomaly that share a data edge are told as one,
// the first, with a count of the others. One wrong read is on many cycles, by the same
// anti-dependency each; all of them stay in the registry, hold their levels refuted, and set
// their edges aside. Only what is told is less. A finding that refutes a level which the
// first one does not is told by itself, and so are all when the first one falls.

// maxFaults bounds those that are remembered, and maxSilent the findings that one of them
// stands for by name: more are counted only.
const (
	maxFaults = 2048
	maxSilent = 4096
	// countEvery is how often a finding is told again because its count has grown.
	countEvery = int64(time.Minute)
)

// fault is a finding that was told, and those that it stands for.
type fault struct {
	Told   finding.Finding
	Edges  []uint64
	Silent []string // ids, in the order of detection
	Count  int64    // of findings, the one that was told included
	Said   int64    // the count when it was told last
	At     int64    // the watermark then
	Extra  int      // revisions because of counts
}

// faults remembers the latest ones.
type faults struct {
	list   []*fault
	byEdge map[uint64]*fault
	byID   map[string]*fault // of the finding that was told
	silent map[string]*fault
}

func newFaults(list []*fault) faults {
	fs := faults{list: list, byEdge: map[uint64]*fault{}, byID: map[string]*fault{}, silent: map[string]*fault{}}
	for _, x := range list {
		fs.enter(x)
	}
	return fs
}

func (fs *faults) enter(x *fault) {
	fs.byID[x.Told.ID] = x
	for _, e := range x.Edges {
		if fs.byEdge[e] == nil {
			fs.byEdge[e] = x
		}
	}
	for _, id := range x.Silent {
		fs.silent[id] = x
	}
}

func (fs *faults) leave(x *fault) {
	delete(fs.byID, x.Told.ID)
	for _, e := range x.Edges {
		if fs.byEdge[e] == x {
			delete(fs.byEdge, e)
		}
	}
	for _, id := range x.Silent {
		delete(fs.silent, id)
	}
}

// dataEdges are hashes of f's anomaly with each of its edges but those of session order and
// real time.
func dataEdges(f *finding.Finding) (all []uint64) {
	for i := range f.Edges {
		e := &f.Edges[i]
		if e.Key != "" && e.Type != "process" && e.Type != "realtime" {
			all = append(all, xxh3.HashString(f.Anomaly+"\x00"+f.Epoch+"\x00"+e.From+"\x00"+e.To+"\x00"+e.Type+"\x00"+e.Key))
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

// tellFault hands f out, unless another finding stands for it. It says whether it did.
func (m *Machine) tellFault(f *finding.Finding) bool {
	fs := &m.faults
	if x := fs.byID[f.ID]; x != nil {
		f.Revision += x.Extra
		if f.State == finding.Withdrawn {
			m.hand(*f)
			m.fall(x)
			return true
		}
		f.Count = x.count()
		x.Told, x.Said, x.At = *f, x.Count, m.watermark
		m.hand(*f)
		return true
	}
	if x := fs.silent[f.ID]; x != nil {
		if f.State != finding.Withdrawn && x.standsFor(f) {
			return false
		}
		delete(fs.silent, f.ID)
		x.Silent = slices.DeleteFunc(x.Silent, func(id string) bool { return id == f.ID })
		x.Count--
		if f.State == finding.Withdrawn {
			return false
		}
	}
	edges := dataEdges(f)
	if f.Kind != finding.KindViolation || len(edges) == 0 || f.State == finding.Withdrawn {
		m.hand(*f)
		return true
	}
	for _, e := range edges {
		x := fs.byEdge[e]
		if x == nil || !x.standsFor(f) {
			continue
		}
		x.Count++
		if len(x.Silent) < maxSilent {
			x.Silent = append(x.Silent, f.ID)
			fs.silent[f.ID] = x
		}
		if !m.cfg.Unbounded && m.watermark-x.At >= countEvery {
			m.recount(x)
		}
		m.effects.Fallen = append(m.effects.Fallen, f.ID) // if it waited
		return false
	}
	x := &fault{Told: *f, Edges: edges, Count: 1, Said: 1, At: m.watermark}
	if len(fs.list) >= maxFaults {
		m.recount(fs.list[0])
		fs.leave(fs.list[0])
		fs.list = slices.Delete(fs.list, 0, 1)
	}
	fs.list = append(fs.list, x)
	fs.enter(x)
	m.hand(*f)
	return true
}

// count is what a finding says of it: nothing where it stands for itself alone.
func (x *fault) count() int64 {
	if x.Count < 2 {
		return 0
	}
	return x.Count
}

// recount tells the finding again if its count is another.
func (m *Machine) recount(x *fault) {
	if x.Count == x.Said || x.Told.State == finding.Withdrawn {
		return
	}
	x.Extra++
	x.Told.Revision++
	x.Told.Count, x.Said, x.At = x.count(), x.Count, m.watermark
	x.Told.DetectedAt = m.detectedAt()
	m.hand(x.Told)
}

// recountAll is for the end of an input.
func (m *Machine) recountAll() {
	for _, x := range m.faults.list {
		m.recount(x)
	}
}

// fall forgets the fault whose finding was withdrawn. What it stood for, and is still open, is told:
// the first of them by itself, and the others with it where they share an edge.
func (m *Machine) fall(x *fault) {
	fs := &m.faults
	fs.leave(x)
	fs.list = slices.DeleteFunc(fs.list, func(y *fault) bool { return y == x })
	for _, id := range x.Silent {
		if f := m.open.ids[id]; f != nil && !f.closed && m.waiting.index(id) < 0 {
			told := f.Finding
			if m.tellFault(&told) {
				m.countFound(&told)
			}
		}
	}
}
