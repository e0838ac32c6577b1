package trial

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// End says that the transaction has ended: from now on it has taken effect in all runs, if its
// outcome is known. If not, it will not take effect any more.
func (f *Follower) End(id int64) {
	i := slices.IndexFunc(f.Running, func(t Running) bool { return t.ID == id })
	if f.Failed != "" || i < 0 {
		return
	}
	if !f.Running[i].Maybe && !f.force(i) {
		f.fail(NoOrder)
		return
	}
	f.drop(i)
	f.fold()
}

// force makes the i-th take effect in all runs.
func (f *Follower) force(i int) bool {
	near := f.related(i)
	todo := slices.Clone(f.Runs)
	var out []Run
	seen := map[uint64]bool{}
	for looked := 0; len(todo) > 0 && looked < maxLooked*f.Width && len(out) < f.Width && f.Looks > 0; looked++ {
		r := todo[0]
		todo = todo[1:]
		if r.Did[i] == done {
			out = keep(out, seen, r)
			continue
		}
		f.Looks -= int64(len(near))
		for _, j := range near {
			next, ok := f.advance(&r, j)
			if !ok {
				continue
			}
			if int(j) == i && next.Did[i] == done {
				out = keep(out, seen, next)
			} else {
				todo = keep(todo, seen, next)
			}
		}
	}
	f.Runs = out[:min(len(out), f.Width)]
	return len(out) > 0
}

// keep adds a run that was not met.
func keep(to []Run, seen map[uint64]bool, r Run) []Run {
	h := r.hash()
	if seen[h] {
		return to
	}
	seen[h] = true
	return append(to, r)
}

// hash tells runs apart. Where it takes two for one, an order is left out.
func (r *Run) hash() uint64 {
	h := uint64(1)
	mix := func(x uint64) {
		h = (h ^ x + 0x632be59bd9b4e019) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for _, d := range r.Did {
		mix(uint64(d) + 1)
	}
	for _, x := range r.Holds {
		mix(uint64(x.Place))
		mix(x.Holds.Lo)
		mix(x.Holds.Hi)
	}
	return h
}

// related are the running transactions that use the same places as the i-th, directly or by way of
// others. The place of the rest in the order makes no difference to it.
func (f *Follower) related(i int) []int32 {
	in := make([]bool, len(f.Running))
	in[i] = true
	list := []int32{int32(i)}
	add := func(j int32) {
		if !in[j] {
			in[j] = true
			list = append(list, j)
		}
	}
	for at := 0; at < len(list); at++ {
		t := &f.Running[list[at]]
		for k := range t.Acts {
			t.Acts[k].eachPlace(func(p int32) {
				for _, j := range f.Places[p].users {
					add(j)
				}
			})
		}
		for j := range f.Running {
			u := &f.Running[j]
			if t.scans || u.scans || t.Session != "" && t.Session == u.Session {
				add(int32(j))
			}
		}
	}
	slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(f.Running[a].End, f.Running[b].End) })
	return list
}

// advance is the run in which the j-th does its next step, if it can.
func (f *Follower) advance(r *Run, j int32) (next Run, ok bool) {
	t := &f.Running[j]
	switch {
	case r.Did[j] == done:
		return next, false
	case r.Did[j] == idle && !f.mayBegin(r, t):
		return next, false
	case r.Did[j] == idle && !f.play(r, t, true):
		return next, false
	}
	next.Did = slices.Clone(r.Did)
	if r.Did[j] == idle && f.Base != serializable && t.changes() {
		next.Did[j], next.Holds = begun, r.Holds
		return next, true
	}
	if r.Did[j] == begun {
		if f.Base == snapshotIsolation && f.overlaps(r, j) {
			return next, false
		}
		if !f.play(r, t, false) {
			return next, false
		}
	}
	next.Did[j] = done
	next.Holds = f.with(r.Holds)
	return next, true
}

// changes says whether t has a change.
func (t *Running) changes() bool {
	return slices.ContainsFunc(t.Acts, func(a Act) bool { return a.How <= joins })
}

// mayBegin says whether all are done that come before t in its session.
func (f *Follower) mayBegin(r *Run, t *Running) bool {
	if t.Session == "" {
		return true
	}
	for i := range f.Running {
		u := &f.Running[i]
		if u.Session != t.Session || u.Maybe || r.Did[i] == done || u.ID == t.ID {
			continue
		}
		if u.HasSeq && t.HasSeq && u.Seq < t.Seq || !(u.HasSeq && t.HasSeq) && u.End <= t.Start {
			return false
		}
	}
	return true
}

// overlaps says whether another has begun, and changes what the j-th changes: it could not
// take effect any more.
func (f *Follower) overlaps(r *Run, j int32) bool {
	t := &f.Running[j]
	for k := range t.Acts {
		if t.Acts[k].How > joins {
			continue
		}
		p := t.Acts[k].Place
		for _, u := range f.Places[p].users {
			if u != j && r.Did[u] == begun && slices.ContainsFunc(f.Running[u].Acts, func(a Act) bool { return a.How <= joins && a.Place == p }) {
				return true
			}
		}
	}
	return false
}

// play does all of t in the run. f.local has the changes then. ok is false if a read shows
// something else; without check they are not looked at.
func (f *Follower) play(r *Run, t *Running, check bool) (ok bool) {
	f.local = f.local[:0]
	for i := range t.Acts {
		a := &t.Acts[i]
		late := f.Base != serializable && t.changes()
		if a.How == replaces && check == late || a.How > joins && a.How != replaces && !check {
			continue
		}
		switch a.How {
		case puts:
			f.set(a.Place, a.Value)
		case pushes:
			h := f.holds(r, a.Place)
			for _, e := range a.Texts {
				h = pushed(h, e)
			}
			f.set(a.Place, h)
		case adds:
			h := f.holds(r, a.Place)
			f.set(a.Place, event.Hash{Lo: h.Lo + uint64(a.Inc)})
		case joins:
			if was := f.holds(r, a.Place); was != a.Value {
				f.set(a.Set, xor(f.holds(r, a.Set), xor(was, a.Value)))
				f.set(a.Place, a.Value)
			}
		case reads:
			if !f.same(r, a.Place, a.Value) {
				return false
			}
		case readsNot:
			if f.same(r, a.Place, a.Value) {
				return false
			}
		case sees, replaces:
			if f.holds(r, a.Place).Lo != a.Value.Lo {
				return false
			}
		case finds:
			for _, p := range a.Elems {
				if f.holds(r, p) == (event.Hash{}) {
					return false
				}
			}
		case scans:
			if !f.shows(r, a, t.Maybe) {
				return false
			}
		}
	}
	return true
}

// shows says whether a scan shows what is there.
func (f *Follower) shows(r *Run, a *Act, maybe bool) bool {
	for _, h := range a.Rows {
		if h.Holds.Hi == 0 {
			if f.holds(r, h.Place).Lo != h.Holds.Lo {
				return false
			}
		} else if !f.same(r, h.Place, h.Holds) {
			return false
		}
	}
	if maybe {
		return true
	}
	from := 0
	if a.Scan.HasFrom {
		from, _ = slices.BinarySearchFunc(f.keys, a.Scan.From, func(q int32, name string) int { return cmp.Compare(f.Places[q].Name, name) })
	}
	for _, p := range f.keys[from:] {
		x := &f.Places[p]
		if a.Scan.HasTo && x.Name >= a.Scan.To {
			break
		}
		if x.Kind != register || f.holds(r, p).Hi == 0 || !covers(a.Scan, x.Name) {
			continue
		}
		if _, shown := slices.BinarySearchFunc(a.Rows, p, byPlace); !shown {
			return false
		}
	}
	return true
}

func byPlace(h Held, p int32) int { return cmp.Compare(h.Place, p) }

// holds is the content of p for the transaction that plays in the run.
func (f *Follower) holds(r *Run, p int32) event.Hash {
	for i := range f.local {
		if f.local[i].Place == p {
			return f.local[i].Holds
		}
	}
	if i, ok := slices.BinarySearchFunc(r.Holds, p, byPlace); ok {
		return r.Holds[i].Holds
	}
	return f.Places[p].Holds
}

func (f *Follower) set(p int32, h event.Hash) {
	for i := range f.local {
		if f.local[i].Place == p {
			f.local[i].Holds = h
			return
		}
	}
	f.local = append(f.local, Held{p, h})
}

// with is the content of a run, and f.local over it.
func (f *Follower) with(held []Held) []Held {
	out := slices.Clone(held)
	for _, x := range f.local {
		i, ok := slices.BinarySearchFunc(out, x.Place, byPlace)
		same := f.Places[x.Place].Holds == x.Holds
		switch {
		case ok && same:
			out = slices.Delete(out, i, i+1)
		case ok:
			out[i] = x
		case !same:
			out = slices.Insert(out, i, x)
		}
	}
	return out
}

// drop takes the i-th out of what runs.
func (f *Follower) drop(i int) {
	t := &f.Running[i]
	for k := range t.Acts {
		t.Acts[k].eachPlace(func(p int32) { f.Places[p].users = nil })
	}
	for j := range f.Running {
		for k := range f.Running[j].Acts {
			f.Running[j].Acts[k].eachPlace(func(p int32) { f.Places[p].users = nil })
		}
	}
	f.Running = slices.Delete(f.Running, i, i+1)
	for j := range f.Running {
		f.use(j)
	}
	seen := map[uint64]bool{}
	kept := f.Runs[:0]
	for _, r := range f.Runs {
		r.Did = slices.Delete(slices.Clone(r.Did), i, i+1)
		kept = keep(kept, seen, r)
	}
	f.Runs = kept
}

// fold notes for all what every run holds.
func (f *Follower) fold() {
	for i := 0; i < len(f.Runs[0].Holds); {
		h := f.Runs[0].Holds[i]
		all := true
		for k := 1; k < len(f.Runs) && all; k++ {
			at, ok := slices.BinarySearchFunc(f.Runs[k].Holds, h.Place, byPlace)
			all = ok && f.Runs[k].Holds[at].Holds == h.Holds
		}
		if !all {
			i++
			continue
		}
		f.Places[h.Place].Holds = h.Holds
		for k := range f.Runs {
			at, _ := slices.BinarySearchFunc(f.Runs[k].Holds, h.Place, byPlace)
			f.Runs[k].Holds = slices.Delete(slices.Clone(f.Runs[k].Holds), at, at+1)
		}
	}
}
