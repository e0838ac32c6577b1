package trial

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// A [Follower] looks for an order while records come: the search of Lowe, *Testing for
// linearizability* (2016), for transactions. Each of them takes effect between its start and its
// end. One that ends is put into the order then, behind others that have begun, if that is
// needed. The orders that are left differ only in the few transactions that run. So a step costs
// what these few allow, however long the history is.
//
// The order is by the records' times. That it is there shows the strong level, and all that it
// implies. That there is none shows nothing: a database need not keep to real time, and only
// the likeliest orders are kept.

// Bounds of a follower. Beyond them it gives up.
const (
	maxRuns    = 96      // orders that are kept
	maxLooked  = 16      // states that are looked at for one transaction, for each of these
	maxRunning = 1024    // transactions at the same time
	maxPlaces  = 1 << 17 // keys and elements of sets, some 200 bytes each
	maxLines   = 1 << 16 // sessions
	// Steps that are tried: so many at once, and so many more for each transaction. One takes some 500 ns.
	looksAtOnce, looksForEach = 200_000, 16
)

// Why a follower gives up. The texts are saved with it.
const (
	SeveralEpochs = "records are of several epochs"
	ManyRunning   = "more than 1,024 transactions ran at the same time"
	OtherKinds    = "a key is used as two kinds, or an operation is of a kind that is not followed"
	ManyKeys      = "there are more than 131,072 keys and elements of sets"
	ManySessions  = "there are more than 65,536 sessions"
	SeqAndTime    = "the `seq` of a session does not follow its times"
	NoOrder       = "none explains all reads"
)

// Follower follows one history at one level.
type Follower struct {
	Base     Base // serializable, snapshotIsolation or prefix
	Epoch    string
	Met      bool // a transaction has begun
	Places   []Place
	Running  []Running  // in the order of their starts
	Runs     []Run      // the likeliest first
	Sessions []LastSeen // by name, of those that tell seq
	Width    int        // how many orders are kept
	Looks    int64      // steps that may be tried yet
	Failed   string     // why nothing is followed any more, "" while an order is left

	at    map[[2]string]int32 // places by key and element
	lines map[string]int      // Sessions by name
	keys  []int32             // places that may be rows, by name
	local []Held              // scratch
}

// Place is a register, a list, a counter, a set, or an element of a set.
type Place struct {
	Name  string
	Elem  string     // of a set, with its text
	Kind  kind       // of the key; unused: not known
	Holds event.Hash // what it holds in all runs that do not say otherwise; nothing is zero
	users []int32    // of Running: who reads or changes it
}

// unused is the kind of a key that was only read, as nothing. A set is one place for what it
// holds, which is the sum of its elements' hashes, and one place for each element.
const (
	unused kind = 16
	theSet kind = 17
)

// LastSeen is how far a session is.
type LastSeen struct {
	Session string
	Seq     int64
}

// Running is a transaction that has begun, and has not taken effect in all runs.
type Running struct {
	ID         int64
	Session    string
	HasSeq     bool
	Seq        int64
	Start, End int64
	Maybe      bool // its outcome is unknown
	Acts       []Act
	scans      bool
}

// Act is an operation.
type Act struct {
	How   doing
	Place int32
	Set   int32           // of an element
	Value event.Hash      // written, added, read or expected
	Inc   int64           // of a counter
	Elems []int32         // places of elements that an unknown transaction saw
	Rows  []Held          // of a scan; without Hi: the version of the row
	Scan  *event.RecordOp `json:",omitempty"`
	Texts []string        `json:",omitempty"` // appended
}

type doing uint8

const (
	puts doing = iota
	pushes
	adds
	joins // an element
	reads
	readsNot // any other than Value
	finds    // elements
	scans
	sees     // the version in Value.Lo
	replaces // the same, when it takes effect
)

// Held is a content that differs from what is held in general.
type Held struct {
	Place int32
	Holds event.Hash
}

// Run is one order so far.
type Run struct {
	Did   []uint8 // by Running: idle, begun or done
	Holds []Held  // by Place
}

const (
	idle uint8 = iota
	begun
	done
)

// NewFollower begins at an empty database.
func NewFollower(l Base) *Follower {
	f := &Follower{Base: l, Width: maxRuns, Looks: looksAtOnce, Runs: []Run{{}}}
	f.Restored()
	return f
}

// Follows says whether a follower can be one of the level.
func Follows(l Base) bool { return l >= prefix }

// Restored makes what is not saved.
func (f *Follower) Restored() {
	f.at, f.lines, f.keys = map[[2]string]int32{}, map[string]int{}, nil
	for i := range f.Places {
		f.at[[2]string{f.Places[i].Name, f.Places[i].Elem}] = int32(i)
		f.noteKey(int32(i))
	}
	for i := range f.Sessions {
		f.lines[f.Sessions[i].Session] = i
	}
	for i := range f.Running {
		f.use(i)
	}
}

// fail ends the search.
func (f *Follower) fail(why string) {
	*f = Follower{Base: f.Base, Failed: why}
}

// Begin takes a transaction that did not abort. They come in the order of their starts, and then
// of their ends. It is called id.
func (f *Follower) Begin(id int64, r *event.Record, start, end int64) {
	switch {
	case f.Failed != "":
		return
	case f.Met && r.Epoch != f.Epoch:
		f.fail(SeveralEpochs)
		return
	case len(f.Running) >= maxRunning:
		f.fail(ManyRunning)
		return
	}
	f.Met, f.Epoch, f.Looks = true, r.Epoch, min(f.Looks+looksForEach, looksAtOnce)
	t := Running{
		ID: id, Session: r.Session, HasSeq: r.Flags&event.HasSeq != 0, Seq: r.Seq, Start: start, End: end, Maybe: r.Status == event.Unknown,
	}
	if t.Session != "" && t.HasSeq && !f.inLine(&t) {
		return
	}
	for i := range r.Ops { // what the transaction adds to tells the kind of what it reads before
		if o := &r.Ops[i]; o.Kind == event.Inc || o.Kind == event.Add || o.Kind == event.Remove {
			f.place(o.Key, "", kindAtPlace(o))
		}
	}
	for i := range r.Ops {
		if !f.act(&t, &r.Ops[i]) {
			f.fail(OtherKinds)
			return
		}
	}
	if len(f.Places) > maxPlaces {
		f.fail(ManyKeys)
		return
	}
	f.Running = append(f.Running, t)
	f.use(len(f.Running) - 1)
	for i := range f.Runs {
		f.Runs[i].Did = append(f.Runs[i].Did, idle)
	}
}

// inLine says whether t comes behind its session's others in time, as it does by its seq.
func (f *Follower) inLine(t *Running) bool {
	i, ok := f.lines[t.Session]
	switch {
	case !ok && len(f.Sessions) >= maxLines:
		f.fail(ManySessions)
		return false
	case !ok:
		f.lines[t.Session] = len(f.Sessions)
		f.Sessions = append(f.Sessions, LastSeen{t.Session, t.Seq})
	case f.Sessions[i].Seq >= t.Seq:
		f.fail(SeqAndTime)
		return false
	default:
		f.Sessions[i].Seq = t.Seq
	}
	return true
}

// use enters the i-th running transaction at its places.
func (f *Follower) use(i int) {
	t := &f.Running[i]
	for _, a := range t.Acts {
		t.scans = t.scans || a.How == scans
		a.eachPlace(func(p int32) {
			if u := &f.Places[p].users; !slices.Contains(*u, int32(i)) {
				*u = append(*u, int32(i))
			}
		})
	}
}

func (a *Act) eachPlace(fn func(p int32)) {
	if a.How != scans {
		fn(a.Place)
	}
	if a.How == joins {
		fn(a.Set)
	}
	for _, p := range a.Elems {
		fn(p)
	}
	for _, h := range a.Rows {
		fn(h.Place)
	}
}

// place is the number of a place, with its kind; ok is false if it is of another one.
func (f *Follower) place(name, elem string, k kind) (p int32, ok bool) {
	at := [2]string{name, elem}
	p, met := f.at[at]
	if !met {
		p = int32(len(f.Places))
		f.Places = append(f.Places, Place{Name: name, Elem: elem, Kind: k})
		f.at[at] = p
		f.noteKey(p)
	}
	x := &f.Places[p]
	if x.Kind == unused {
		x.Kind = k
	}
	return p, k == unused || x.Kind == k
}

// noteKey keeps keys in the order of their names.
func (f *Follower) noteKey(p int32) {
	if f.Places[p].Kind == element {
		return
	}
	at, _ := slices.BinarySearchFunc(f.keys, f.Places[p].Name, func(q int32, name string) int { return cmp.Compare(f.Places[q].Name, name) })
	f.keys = slices.Insert(f.keys, at, p)
}

// act adds an operation to t; false if it is none that is followed.
func (f *Follower) act(t *Running, o *event.RecordOp) (ok bool) {
	k := kindAtPlace(o)
	if p, met := f.at[[2]string{o.Key, ""}]; met && o.Kind == event.Read && o.Data == event.AnyKind && o.Flags&event.NotFound == 0 {
		switch was, array := f.Places[p].Kind, o.Flags&event.IsArray != 0; {
		case was == counter && !array, was == theSet && array:
			k = was // as its writes told
		}
	}
	if !f.tells(o, k) {
		return false
	}
	a := Act{}
	if o.Kind == event.Range {
		return f.scan(t, o)
	}
	if a.Place, ok = f.place(o.Key, "", k); !ok {
		return false
	}
	switch nothing := o.Nothing(); o.Kind {
	case event.Write, event.Insert, event.Delete:
		if k != register || o.Flags&event.NotFound != 0 {
			return false // a list, a set or a counter as a whole
		}
		if o.Kind != event.Delete {
			a.Value = textHash(o.Value)
		}
		t.put(a, o)
		return true
	case event.Append:
		a.How, a.Texts = pushes, []string{o.Value}
	case event.Inc:
		a.How = adds
		a.Inc, ok = amount(o.Value, 1)
	case event.Add, event.Remove:
		a.How, a.Set = joins, a.Place
		if a.Place, ok = f.place(o.Key, o.Value, element); o.Kind == event.Add {
			a.Value = textHash(o.Value)
		}
	case event.CAS:
		if k != register {
			return false
		}
		f.compareAndSet(t, a.Place, o)
		return true
	case event.Read:
		if o.Version != "" && (k == register || nothing) {
			t.Acts = append(t.Acts, Act{How: sees, Place: a.Place, Value: versionHash(o.Version)})
			return k == register || f.Places[a.Place].Kind == register
		}
		if t.Maybe && nothing {
			return true // what it saw is not known
		}
		return f.read(t, a, o)
	default:
		return false
	}
	t.Acts = append(t.Acts, a)
	return ok
}

// kindAtPlace is the kind of the place of o's key, as o tells it.
func kindAtPlace(o *event.RecordOp) kind {
	switch k, known := kindOf(o); {
	case !known:
		return unused
	case k == element:
		return theSet
	default:
		return k
	}
}

func (f *Follower) read(t *Running, a Act, o *event.RecordOp) (ok bool) {
	a.How, ok = reads, true
	switch {
	case o.Flags&event.NotFound != 0:
	case f.Places[a.Place].Kind == theSet:
		elems := slices.Clone(o.Elems)
		slices.Sort(elems)
		for _, e := range slices.Compact(elems) {
			a.Value = xor(a.Value, textHash(e))
			if p, isElement := f.place(o.Key, e, element); t.Maybe && isElement {
				a.How, a.Elems = finds, append(a.Elems, p)
			}
		}
	case f.Places[a.Place].Kind == list:
		for _, e := range o.Elems {
			a.Value = pushed(a.Value, e)
		}
	case f.Places[a.Place].Kind == counter:
		var n int64
		n, ok = amount(o.Value, 0)
		a.Value = event.Hash{Lo: uint64(n)}
	default:
		a.Value = textHash(o.Value)
	}
	t.Acts = append(t.Acts, a)
	return ok
}

func (f *Follower) compareAndSet(t *Running, p int32, o *event.RecordOp) {
	valueOf := func(text string) event.Hash {
		if text == "null" {
			return event.Hash{}
		}
		return textHash(text)
	}
	expected := valueOf(o.Expected)
	if o.Flags&event.Success != 0 {
		if !t.Maybe || expected != (event.Hash{}) {
			t.Acts = append(t.Acts, Act{How: reads, Place: p, Value: expected})
		}
		t.put(Act{Place: p, Value: textHash(o.Value)}, o)
		return
	}
	if seen := valueOf(o.Seen); o.Seen != "" && (!t.Maybe || seen != (event.Hash{})) {
		t.Acts = append(t.Acts, Act{How: reads, Place: p, Value: seen})
	}
	if !t.Maybe || expected != (event.Hash{}) {
		t.Acts = append(t.Acts, Act{How: readsNot, Place: p, Value: expected})
	}
}

func (f *Follower) scan(t *Running, o *event.RecordOp) bool {
	a := Act{How: scans, Scan: o}
	for _, r := range o.Rows {
		p, ok := f.place(r.Key, "", register)
		if !ok {
			return false
		}
		held := textHash(r.Value)
		if r.Version != "" {
			held = versionHash(r.Version)
		}
		a.Rows = append(a.Rows, Held{p, held})
	}
	slices.SortFunc(a.Rows, func(x, y Held) int { return cmp.Compare(x.Place, y.Place) })
	t.Acts = append(t.Acts, a)
	return true
}

func textHash(text string) event.Hash {
	h := event.HashText([]byte(text))
	h.Hi |= 1 // zero is for nothing
	return h
}

func xor(a, b event.Hash) event.Hash { return event.Hash{Lo: a.Lo ^ b.Lo, Hi: a.Hi ^ b.Hi} }

// pushed is the list h with one element more.
func pushed(h event.Hash, elem string) event.Hash {
	x := textHash(elem)
	var b [32]byte
	for i, v := range [4]uint64{h.Lo, h.Hi, x.Lo, x.Hi} {
		for j := range 8 {
			b[8*i+j] = byte(v >> (8 * j))
		}
	}
	return textHash(string(b[:]))
}
