package saturation

import (
	"cmp"
	"slices"
)

// direct applies the rules of monotonic atomic view and read atomic to a whole
// history. They look at who t3 read from and who precedes it in its session, and at
// nothing behind these: no clocks are kept.
type direct struct {
	*History
	keys    []directKey
	writers []directWriter // by transaction
	same    []uint32       // by read of the transaction in work: index+1 of the one before of its key
	stamp   uint32
	edges   []Edge
}

type directKey struct {
	stamp uint32 // the number of the transaction in work: it read the key
	read  uint32 // index+1 of the latest read of it
}

type directWriter struct{ stamp, first uint32 }

// manyWrites is the number of writes from which on they are searched, not walked
// through. They are sorted then.
const manyWrites = 32

// newDirect sorts the keys of transactions that wrote many.
func newDirect(h *History) *direct {
	d := &direct{History: h, writers: make([]directWriter, len(h.Txns))}
	most := uint32(0)
	for i := range h.Reads {
		most = max(most, h.Reads[i].Key)
	}
	for _, k := range h.Writes {
		most = max(most, k)
	}
	d.keys = make([]directKey, most+1)
	for t := 1; t < len(h.Txns); t++ {
		if ws := h.writes(uint32(t)); len(ws) > manyWrites {
			slices.Sort(ws)
		}
	}
	return d
}

// byReads gives the edges of figures 2a and 2b by reads: who t read from comes before
// the others that t read the same keys from. For each transaction it costs the writes
// of those it read from, or its reads for each of them where these wrote many.
func (d *direct) byReads() {
	for t := 1; t < len(d.Txns); t++ {
		reads := d.reads(uint32(t))
		if len(reads) < 2 {
			continue
		}
		d.stamp++
		for len(d.same) < len(reads) {
			d.same = append(d.same, 0)
		}
		for i := range reads {
			r := &reads[i]
			k := &d.keys[r.Key]
			if d.same[i] = 0; k.stamp == d.stamp {
				d.same[i] = k.read
			}
			k.stamp, k.read = d.stamp, uint32(i)+1
			if w := &d.writers[r.Writer]; r.Writer != 0 && (w.stamp != d.stamp || r.First < w.first) {
				w.stamp, w.first = d.stamp, r.First
			}
		}
		for i := range reads {
			r := &reads[i]
			if r.Writer != 0 && r.Writer != uint32(t) && d.writers[r.Writer].first == r.First {
				d.from(uint32(t), r, reads)
			}
		}
	}
}

// from gives the edges out of the writer of first, which t read from then.
func (d *direct) from(t uint32, first *Read, reads []Read) {
	ws := d.writes(first.Writer)
	if len(ws) > manyWrites {
		for j := range reads {
			if _, wrote := slices.BinarySearch(ws, reads[j].Key); wrote {
				d.edge(t, first, &reads[j])
			}
		}
		return
	}
	for _, key := range ws {
		if k := &d.keys[key]; k.stamp == d.stamp {
			for j := k.read; j != 0; j = d.same[j-1] {
				d.edge(t, first, &reads[j-1])
			}
		}
	}
}

func (d *direct) edge(t uint32, first, r *Read) {
	other := first.Key != r.Key
	if r.Writer == first.Writer || r.Writer == t || r.First == first.First && !other {
		return // one operation of t saw both, and shows which came first
	}
	rule := Atomic
	if first.First < r.Last || first.First == r.Last && other {
		rule = AtomicView
	}
	d.edges = append(d.edges, Edge{From: first.Writer, To: r.Writer, By: t, Key: r.Key, Rule: rule})
}

// bySessions gives the edges of figure 2b by session order. Take the latest transaction before
// t in its session that wrote a key which t read. It comes before the writer that t read the
// key from. Those further back come before it.
func (d *direct) bySessions() {
	members := make([]uint32, 0, len(d.Txns))
	for t := 1; t < len(d.Txns); t++ {
		if d.Txns[t].Session != 0 {
			members = append(members, uint32(t))
		}
	}
	slices.SortStableFunc(members, func(a, b uint32) int { return cmp.Compare(d.Txns[a].Session, d.Txns[b].Session) })
	type write struct{ session, txn uint32 }
	latest := make([]write, len(d.keys))
	for _, t := range members {
		x := &d.Txns[t]
		reads := d.reads(t)
		for i := range reads {
			r := &reads[i]
			if w := latest[r.Key]; w.session == x.Session && w.txn != r.Writer && r.Writer != t {
				d.edges = append(d.edges, Edge{From: w.txn, To: r.Writer, By: t, Key: r.Key, Rule: SessionAtomic})
			}
		}
		if x.Open {
			continue // no transaction of its session is known to follow it
		}
		for _, k := range d.writes(t) {
			latest[k] = write{x.Session, t}
		}
	}
}
