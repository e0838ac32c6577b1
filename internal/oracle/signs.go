package oracle

import (
	"regexp"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// Value is a value of a key.
type Value struct {
	Key   string
	Value int64
}

// Signs are which plain values name their writers, as far as a whole history shows it.
type Signs struct {
	// Repeats are the patterns of keys that have shown a sign: none of their values does.
	Repeats map[string]bool
	// Perhaps are the patterns with a sign that the retry of a transaction which aborted, or whose
	// outcome is unknown, explains: it is one where the retry's record comes first, since signs are
	// not taken back.
	Perhaps map[string]bool
	// Ambiguous are values of other patterns that do not: the clocks allow two stories.
	Ambiguous map[Value]bool
	// Unsure are reads that need not be of the writer of the value, and Beside those of them that
	// ran when it did, by their records.
	Unsure, Beside map[Saw]bool
}

// Saw is a value that the transaction with this id read.
type Saw struct {
	Reader string
	Value
}

var (
	uuids  = regexp.MustCompile(`\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b`)
	long   = regexp.MustCompile(`\b[0-9a-fA-F]*[0-9][0-9a-fA-F]*\b`)
	digits = regexp.MustCompile(`[0-9]+`)
)

// PatternOf is the pattern of the key, but for segments that have shown many texts.
func PatternOf(key string) string {
	key = uuids.ReplaceAllString(key, "#")
	key = long.ReplaceAllStringFunc(key, func(s string) string {
		if len(s) < 8 {
			return s
		}
		return "#"
	})
	return digits.ReplaceAllString(key, "#")
}

// Names says whether reads of the value may say whom they read.
func (s *Signs) Names(v Value) bool { return !s.Repeats[PatternOf(v.Key)] && !s.Ambiguous[v] }

// SignsOf takes the signs of h, where two clients' clocks may be drift apart, ns, and values may
// be written by transactions without a record. In any order of arrival they are the same, but for Perhaps.
func SignsOf(h History, drift int64) Signs {
	s := Signs{map[string]bool{}, map[string]bool{}, map[Value]bool{}, map[Saw]bool{}, map[Saw]bool{}}
	for i := range h {
		for _, v := range written(&h[i]) {
			s.writers(h, &h[i], v)
			s.early(h, &h[i], v, drift)
			s.stood(h, &h[i], v, drift)
		}
		for _, v := range seen(&h[i]) {
			s.back(h, &h[i], v, drift)
		}
	}
	return s
}

// writers: two transactions that committed wrote one value. One that aborted, or whose outcome
// is unknown, may have been tried again.
func (s *Signs) writers(h History, w *workload.Txn, v Value) {
	for i := range h {
		if o := &h[i]; o != w && o.Status == event.Committed && w.Status == event.Committed && has(written(o), v) {
			s.Repeats[PatternOf(v.Key)] = true
		}
	}
}

// early: a reader of v was over when w, who wrote it, began.
func (s *Signs) early(h History, w *workload.Txn, v Value, drift int64) {
	if w.Status == event.Aborted {
		return
	}
	for i := range h {
		r := &h[i]
		if r == w || !has(seen(r), v) {
			continue
		}
		switch gap := w.Start - r.End; {
		case inSession(r, w), r.End != 0 && w.End != 0 && gap > drift:
			s.sign(h, v)
		case r.End != 0 && w.End != 0 && gap > 0:
			s.Ambiguous[v] = true
		}
	}
}

// stood: w wrote v without having read the key, and who read v while w ran, as far as the clocks
// show, may have found it there before: the key is not known to have held something else. If it
// replaced v too, and they ran at one time by their records, nothing is known of v. A value that w
// replaced itself is not looked at.
func (s *Signs) stood(h History, w *workload.Txn, v Value, drift int64) {
	if w.Status != event.Committed || !blind(w, v) {
		return
	}
	for i := range h {
		r := &h[i]
		if r == w || r.Status != event.Committed || !has(seen(r), v) || inSession(w, r) {
			continue
		}
		timed := w.End != 0 && r.End != 0
		if timed && (r.Start-w.End > drift || heldAnother(h, r, v, drift)) {
			continue
		}
		s.Unsure[Saw{r.ID, v}] = true
		if timed && r.Start > w.End {
			continue
		}
		if s.Beside[Saw{r.ID, v}] = true; replaces(r, v.Key) {
			s.Ambiguous[v] = true
		}
	}
}

// inSession says whether a comes before b in one session: by seq, or by times where one has none.
func inSession(a, b *workload.Txn) bool {
	switch {
	case a.Session == "" || a.Session != b.Session:
		return false
	case a.Seq != 0 && b.Seq != 0:
		return a.Seq < b.Seq
	}
	return a.End != 0 && b.End != 0 && a.End <= b.Start && a.Start < b.End
}

// blind says whether t left v in its key, and wrote it without having read the key.
func blind(t *workload.Txn, v Value) (left bool) {
	wrote := false
	for _, o := range t.Ops {
		switch {
		case o.Key != v.Key || o.Kind == event.Read && wrote:
		case o.Kind == event.Read || o.Kind == event.Insert && o.Value == v.Value && !wrote: // which fails on what is there
			return false
		default:
			wrote, left = true, o.Kind == event.Write && o.Value == v.Value
		}
	}
	return left
}

// heldAnother says whether one was over by more than the drift before r began that committed and
// had read something else than v in its key, or nothing, or left that.
func heldAnother(h History, r *workload.Txn, v Value, drift int64) bool {
	for i := range h {
		t := &h[i]
		if t.Status != event.Committed || t.End == 0 || r.Start-t.End <= drift {
			continue
		}
		for j, o := range t.Ops {
			mine := func(p workload.Op) bool { return p.Key == v.Key && p.Kind != event.Read }
			if o.Key != v.Key || o.Kind != event.Delete && !o.Absent && o.Value == v.Value {
				continue
			}
			if o.Kind == event.Read && !slices.ContainsFunc(t.Ops[:j], mine) || o.Kind != event.Read && !slices.ContainsFunc(t.Ops[j+1:], mine) {
				return true
			}
		}
	}
	return false
}

// back: r read v when one was over that had read and replaced it.
func (s *Signs) back(h History, r *workload.Txn, v Value, drift int64) {
	for i := range h {
		o := &h[i]
		if o == r || o.Status != event.Committed || r.Status == event.Aborted || !has(seen(o), v) || !replaces(o, v.Key) {
			continue
		}
		if behind := o.End != 0 && r.End != 0 && r.Start > o.End && r.Start-o.End > drift; !behind && !inSession(o, r) {
			continue
		}
		if replaces(r, v.Key) {
			s.sign(h, v)
		} else {
			s.Ambiguous[v] = true
		}
	}
}

// sign notes that a read of v shows a sign: for certain unless a retry explains it.
func (s *Signs) sign(h History, v Value) {
	if retried(h, v) {
		s.Perhaps[PatternOf(v.Key)] = true
	} else {
		s.Repeats[PatternOf(v.Key)] = true
	}
}

// retried says whether several wrote v, of whom one aborted or has an unknown outcome: the
// others may have tried again what it did.
func retried(h History, v Value) bool {
	writers, failed := 0, false
	for i := range h {
		if has(written(&h[i]), v) {
			writers++
			failed = failed || h[i].Status != event.Committed
		}
	}
	return writers > 1 && failed
}

// written are the values that t wrote, those that it replaced itself too.
func written(t *workload.Txn) (all []Value) {
	for _, o := range t.Ops {
		if o.Kind == event.Write || o.Kind == event.Insert {
			all = append(all, Value{o.Key, o.Value})
		}
	}
	return all
}

// seen are the values that t read before it wrote their key.
func seen(t *workload.Txn) (all []Value) {
	wrote := map[string]bool{}
	for _, o := range t.Ops {
		if o.Kind == event.Read && !o.Absent && !wrote[o.Key] {
			all = append(all, Value{o.Key, o.Value})
		}
		wrote[o.Key] = wrote[o.Key] || o.Kind != event.Read
	}
	return all
}

func replaces(t *workload.Txn, key string) bool {
	for _, o := range t.Ops {
		if o.Key == key && o.Kind != event.Read {
			return true
		}
	}
	return false
}

func has(all []Value, v Value) bool { return slices.Contains(all, v) }
