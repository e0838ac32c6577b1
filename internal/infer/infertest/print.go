package infertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/pattern"
)

func (r *room) printf(format string, args ...any) {
	r.printed = append(r.printed, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// name is the id of n's record.
func (r *room) name(n uint32) string {
	record := r.s.Record(n)
	switch {
	case n == 0:
		return "nobody"
	case record == nil && r.ids[n] != "":
		return r.ids[n] // it has left
	case record == nil:
		return "somebody"
	}
	var b event.Batch
	var d event.Decoder
	if err := d.DecodeRecord(&b, event.Position{}, record); err != nil {
		return err.Error()
	}
	return b.Text(b.Txns[0].ID)
}

func (r *room) names(ns []uint32) string {
	var all []string
	for _, n := range ns {
		all = append(all, r.name(n))
	}
	return strings.Join(all, " ")
}

// version is the key and the value of v.
func (r *room) version(v uint32) string {
	if v == 0 {
		return "nothing"
	}
	if text, ok := r.texts[r.s.ValueKey(v)]; ok {
		return text
	}
	return r.text(v)
}

func (r *room) text(v uint32) string {
	var b event.Batch
	value := r.s.Value(v, &b)
	switch {
	case r.s.Versions[v].Flags&ledger.InitialVersion != 0 && r.s.OfElement(v):
		value = "without " + value
	case r.s.Versions[v].Flags&ledger.InitialVersion != 0:
		value = "nil"
	case r.s.Versions[v].Flags&ledger.Tombstone != 0:
		value = "deleted"
	case r.s.IsNothing(v):
		value = "empty"
	}
	return strings.TrimRight(r.s.Key(v)+" "+value, " ")
}

// learn notes the texts of values, and the ids of transactions, while records that hold them are
// in memory.
func (r *room) learn() {
	for n := range r.s.Txns {
		if r.s.Record(uint32(n)) != nil {
			r.ids[uint32(n)] = r.name(uint32(n))
		}
	}
	r.learnValues()
}

func (r *room) learnValues() {
	for v := range r.s.Versions {
		if r.s.Versions[v].Key == 0 {
			continue
		}
		if at, text := r.s.ValueKey(uint32(v)), r.text(uint32(v)); text != r.s.Key(uint32(v)) {
			r.texts[at] = text
		}
	}
}

func (r *room) value(at uint64) string {
	if text, ok := r.texts[at]; ok {
		return text
	}
	return "a value"
}

func labelText(l ledger.Label) string {
	var all []string
	for _, x := range []struct {
		l    ledger.Label
		name string
	}{{ledger.WW, "ww"}, {ledger.WR, "wr"}, {ledger.RW, "rw"}, {ledger.Process, "process"}, {ledger.Realtime, "realtime"}, {ledger.Saturated, "saturated"}, {ledger.Reread, "reread"}, {ledger.OtherRow, "other-row"}} {
		if l&x.l != 0 {
			all = append(all, x.name)
		}
	}
	return strings.Join(all, "+")
}

func (r *room) edgeText(e *ledger.Edge) string {
	on, shown := "", ""
	if e.Version != 0 {
		on = "(" + r.version(e.Version) + ")"
	}
	if e.Witness != 0 {
		shown = " shown by " + r.name(e.Witness)
	}
	return fmt.Sprintf("%s -%s%s-> %s%s", r.name(e.From), labelText(e.Label), on, r.name(e.To), shown)
}

// print prints what a step gave; id is that of the record that it took in.
func (r *room) print(id string) {
	defer r.learn() // before that, those that have left in this step have their ids
	r.learnValues()
	o := &r.out
	r.edges = slices.Clone(o.Edges)
	if o.Refused != ledger.Taken {
		r.printf("%s is refused: %s", id, []string{"", "repeated", "contradicting", "too late"}[o.Refused])
	}
	if o.Again {
		r.printf("%s is taken in again", id)
	}
	for _, n := range o.Gone {
		r.printf("%s counts no more", r.name(n))
	}
	for _, n := range o.Nodes {
		if name := r.name(n); name != id || o.Again {
			r.printf("%s counts", name)
		}
	}
	if len(o.Replaced) > 0 {
		r.printf("%d replaced", len(o.Replaced))
	}
	for _, k := range o.Kills {
		from, order := "", ""
		if k.From != 0 {
			from = " out of " + r.name(k.From)
		}
		if k.Order {
			order = ", of the order only"
		}
		if k.Placed != 0 {
			order = ", shown by " + r.name(k.Placed)
		}
		r.printf("no more %s(%s) at %s%s%s", labelText(k.Labels), r.version(k.Version), r.name(k.Writer), from, order)
	}
	for i := range o.Edges {
		e := &o.Edges[i]
		line := r.edgeText(e)
		if a, b, label := r.s.OrderedBy(*e); label != 0 {
			line += fmt.Sprintf(", as %s -%s-> %s visits", r.name(a), labelText(label), r.name(b))
		}
		r.printf("%s", line)
	}
	for _, x := range o.Left {
		r.printf("%s left %s", r.name(x.By), r.value(x.Value))
	}
	for _, x := range o.Shown {
		r.printf("into %s: shown by %s, was by %s", r.name(x.Writer), r.name(x.Now), r.name(x.Was))
	}
	for i := range o.Anomalies {
		r.printAnomaly(&o.Anomalies[i])
	}
	for _, v := range o.Supplied {
		r.printf("supplied: %s", r.value(v))
	}
	from := len(r.printed) // in the order of their texts: that of their numbers is no promise
	for _, v := range o.Ambiguous {
		r.printf("ambiguous: %s", r.value(v))
	}
	slices.Sort(r.printed[from:])
	for i := range o.Deletions {
		r.printf("deleted since: %s", r.version(o.Deletions[i].Version))
	}
	for _, k := range o.Emptied {
		r.printf("emptied: %s", r.s.KeyName(k))
	}
	if o.OtherRows != 0 {
		r.printf("%d pairs may be of two rows", o.OtherRows)
	}
}

func (r *room) printAnomaly(a *ledger.Anomaly) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", a.Kind, r.name(a.A))
	if a.B != 0 {
		b.WriteString(" " + r.name(a.B))
	}
	if a.Version != 0 {
		b.WriteString(" on " + r.version(a.Version))
	}
	if a.Other != 0 {
		b.WriteString(" and " + r.version(a.Other))
	}
	if a.OpA != 0 {
		fmt.Fprintf(&b, ", operation %d", a.OpA)
	}
	if a.Count != 0 {
		fmt.Fprintf(&b, ", count %d", a.Count)
	}
	if !a.Certain {
		b.WriteString(", not certain")
	}
	r.printed = append(r.printed, b.String())
	if a.Kind == ledger.CyclicVersions && a.Count > 0 {
		for _, x := range r.out.Steps[a.OpA : int64(a.OpA)+a.Count] {
			r.printf("  step %s -%s-> %s, which has %s", r.name(x.From), labelText(x.Label), r.name(x.To), r.version(x.Version))
		}
	}
}

// query prints what is asked about the state.
func (r *room) query(name, rest string) error {
	switch name {
	case "counters":
		r.printf("counters%s", nonzero(r.s.Counters))
	case "reads":
		x := r.s.Reads()
		open := ""
		for why, n := range x.Open {
			if n != 0 && ledger.OpenRead(why) != ledger.Decided {
				open += fmt.Sprintf(" %s=%d", openNames[why], n)
			}
		}
		r.printf("reads %d%s loose=%d", x.Total, open, x.Loose)
	case "versions":
		for _, k := range r.keys(rest) {
			r.printKey(k)
		}
	case "unordered":
		r.s.EachUnordered(true, r.printChains)
	case "chains":
		r.s.EachVersions(r.printChains)
	case "unread":
		r.s.EachUnread(func(writers []uint32) { r.printf("unread %s", r.names(writers)) })
	case "maycount":
		all, maybe := r.s.MayCount(nil)
		r.printf("count: %s; may: %s", r.names(all[:maybe]), r.names(all[maybe:]))
	case "patterns":
		r.s.EachPattern(func(name string, p *pattern.Pattern) {
			r.printf("pattern %s: repeats %d, shared %v, undecided %d", name, p.Repeats, p.Shared, p.Undecided)
		})
	case "duplicates":
		r.printDuplicates()
	case "alone":
		r.printAlone()
	case "rests":
		for i := range r.edges {
			line := r.edgeText(&r.edges[i]) + " rests on"
			for _, v := range r.s.RestsOn(nil, r.edges[i]) {
				line += " " + r.value(v) + ","
			}
			r.printf("%s", strings.TrimSuffix(line, ","))
		}
	case "line":
		for _, k := range r.keys(rest) {
			r.printLines(k)
		}
	case "kept":
		for _, k := range r.keys(rest) {
			var lines []string
			r.s.EachKept(k, func(v, w uint32) { lines = append(lines, "kept "+r.version(v)+" of "+r.name(w)) })
			slices.Sort(lines)
			r.printed = append(r.printed, lines...)
		}
	case "follows":
		r.s.EachTaken(func(a uint32) {
			r.s.EachTaken(func(b uint32) {
				if r.s.Follows(a, b) {
					r.printf("%s follows %s", r.name(b), r.name(a))
				}
			})
		})
	case "overtake":
		id, key, _ := strings.Cut(rest, " ")
		by, key, _ := strings.Cut(key, " ")
		for _, k := range r.keys(key) {
			r.s.OvertakeLast(r.s.WithID(id, ""), k, r.s.WithID(by, ""))
			switch is, guess := r.s.Overtaken(r.s.Left(r.s.WithID(id, ""), k)); {
			case guess:
				r.printf("%s is perhaps overtaken", r.version(r.s.Left(r.s.WithID(id, ""), k)))
			case is:
				r.printf("%s is overtaken", r.version(r.s.Left(r.s.WithID(id, ""), k)))
			}
		}
	case "list":
		for _, k := range r.keys(rest) {
			r.printList(k)
		}
	case "keys-of":
		for _, id := range strings.Fields(rest) {
			r.printf("%s wrote %d keys", id, len(r.s.WrittenKeys(nil, r.s.WithID(id, ""))))
		}
	case "totals":
		r.printTotals()
	case "pieces":
		all, _ := r.s.MayCount(nil)
		ok := r.s.EachPiece(all, r.s.Pending, true, func(p *infer.Piece) {
			r.printf("piece of %s: %s, read by %s, closed %v, duplicate %v, rows %v", r.s.KeyName(p.Key), r.names(p.Txns), r.sorted(p.Readers), p.Closed, p.Duplicate, p.Rows)
		})
		r.printf("pieces are chains: %v", ok)
	case "about":
		for _, id := range strings.Fields(rest) {
			n := r.s.WithID(id, "")
			if n == 0 {
				return fmt.Errorf("%s is not in memory", id)
			}
			r.printTxn(n)
		}
	case "sizes":
		r.printf("keys %d, versions %d, transactions %d", len(r.keys("")), len(r.s.Versions)-1-r.s.Free.Versions.Len(), len(r.s.Txns)-1-r.s.Free.Txns.Len())
	default:
		return r.queryDeleted(name, rest)
	}
	return nil
}

var openNames = [ledger.OpenCauses]string{"decided", "nothing", "unrecorded", "repeating", "several", "searched", "unattributed", "nameless", "counter", "one", "meanwhile", "deleted", "row", "unchecked"}

// nonzero are the numbers of x that are not 0, by their names.
func nonzero(x any) string {
	text, err := json.Marshal(x)
	if err != nil {
		return err.Error()
	}
	var all map[string]int64
	if err := json.Unmarshal(text, &all); err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] != 0 {
			fmt.Fprintf(&b, " %s=%d", name, all[name])
		}
	}
	return b.String()
}

// keys are those with the names, or all, in the order of their names.
func (r *room) keys(rest string) []uint32 {
	var ks []uint32
	for k := range r.s.Keys {
		if x := &r.s.Keys[k]; x.Count > 0 && x.Flags&ledger.Element == 0 && (rest == "" || slices.Contains(strings.Fields(rest), r.s.KeyName(uint32(k)))) {
			ks = append(ks, uint32(k))
		}
	}
	slices.SortFunc(ks, func(a, b uint32) int { return cmp.Compare(r.s.KeyName(a), r.s.KeyName(b)) })
	return ks
}

// printKey prints the versions of k in the order of their texts.
func (r *room) printKey(k uint32) {
	var lines []string
	for v := range r.s.Versions {
		x := &r.s.Versions[v]
		if x.Key != k {
			continue
		}
		line := "  " + r.version(uint32(v))
		if w := r.s.WriterOf(uint32(v)); w != 0 {
			line += " by " + r.name(w)
		} else if ws := r.s.Writers(nil, uint32(v)); len(ws) > 0 {
			line += " perhaps by " + r.sorted(ws)
		}
		var readers, over []uint32
		r.s.EachReader(uint32(v), func(n uint32) { readers = append(readers, n) })
		if len(readers) > 0 {
			line += ", read by " + r.sorted(readers)
		}
		r.s.EachReplaced(uint32(v), func(n, version uint32) bool { over = append(over, n); return true })
		if len(over) > 0 {
			line += ", replaced by " + r.sorted(over)
		}
		if x.Index != 0 {
			line += fmt.Sprintf(", place %d", x.Index)
		}
		for _, f := range []struct {
			f    ledger.VersionFlags
			name string
		}{{ledger.Ambiguous, "ambiguous"}, {ledger.Baseline, "baseline"}, {ledger.Unattributed, "unattributed"}, {ledger.Unrecorded, "unrecorded"}, {ledger.Overwritten, "overwritten"}, {ledger.InUnplaced, "unplaced"}} {
			if x.Flags&f.f != 0 {
				line += ", " + f.name
			}
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	r.printf("versions of %s", r.s.KeyName(k))
	for _, l := range lines {
		r.printf("%s", l)
	}
	initial := r.s.Keys[k].Initial
	var users []uint32
	r.s.EachUser(k, func(n uint32) { users = append(users, n) })
	r.printf("  used by %s; found empty by %s", r.sorted(slices.Compact(slices.Sorted(slices.Values(users)))), r.sorted(r.s.InitialReaders(nil, k)))
	for _, x := range []struct {
		is   bool
		text string
	}{
		{r.s.NeverWritten(k, r.s.HasRetired), "nobody who is gone wrote it"},
		{r.s.WasAbsent(initial), "it was absent"},
		{r.s.MayBeOtherRows(initial), "it may have other rows"},
		{r.s.MisorderedList(initial), "misordered"},
		{r.s.Repeats(r.s.KeyName(k), ""), "its values repeat"},
		{r.s.Shared(r.s.KeyName(k), ""), "its values are shared"},
	} {
		if x.is {
			r.printf("  %s", x.text)
		}
	}
}

// printList prints what is known of the elements of k from the reads of others.
func (r *room) printList(k uint32) {
	all, _ := r.s.MayCount(nil)
	var lines []string
	for v := range r.s.Versions {
		if v := uint32(v); r.s.Versions[v].Key == k {
			line := r.version(v)
			if n := r.s.ShownBy(v); n != 0 {
				line += " is shown by " + r.name(n)
			}
			var shown []uint32
			r.s.Shown(v, func(n uint32) { shown = append(shown, n) })
			if len(shown) > 0 {
				line += ", shows " + r.names(shown)
			}
			for _, n := range all {
				if u := r.s.ShownOf(v, n); u != 0 {
					line += ", with " + r.version(u) + " of " + r.name(n)
				}
				if r.s.ReadUpTo(n, v) {
					line += ", read by " + r.name(n)
				}
				if !r.s.BehindUnseen(v, n) {
					line += ", next for " + r.name(n)
				}
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	r.printed = append(r.printed, lines...)
	for _, a := range all {
		for _, b := range all {
			r.s.EachReadFrom(a, b, func(v uint32) { r.printf("%s read %s from %s", r.name(b), r.version(v), r.name(a)) })
		}
	}
}

// printLines prints the ways from the initial version of k to the others.
func (r *room) printLines(k uint32) {
	var lines []string
	for v := range r.s.Versions {
		if r.opt.Linear && r.s.Versions[v].Key == k {
			if line := r.s.Line(nil, r.s.Keys[k].Initial, uint32(v)); len(line) > 0 {
				text := "line"
				for _, u := range line {
					text += " " + r.version(u) + ","
				}
				lines = append(lines, strings.TrimSuffix(text, ","))
			}
		}
	}
	slices.Sort(lines)
	r.printed = append(r.printed, lines...)
}

// printTotals prints what transactions did to counters.
func (r *room) printTotals() {
	for _, t := range r.s.CounterTxns() {
		for i := range t.Uses {
			u := &t.Uses[i]
			r.printf("%s uses %s: adds %d, read %v, saw %d in operation %d, beyond %v, named %v, counts %v",
				r.name(t.Txn), r.s.KeyName(u.Key), u.Inc, u.Read, u.Seen, u.Op, u.Beyond, u.Left != 0, t.Counts)
		}
	}
}

// sorted are the names in order: lists in memory have the latest first.
func (r *room) sorted(ns []uint32) string {
	var all []string
	for _, n := range ns {
		all = append(all, r.name(n))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (r *room) printChains(k uint32, chains []infer.Chain) {
	if chains == nil {
		r.printf("%s: no chains", r.s.KeyName(k))
		return
	}
	var all []string
	for _, c := range chains {
		text := r.names(c.Txns)
		if len(c.Readers) > 0 {
			text += " read by " + r.sorted(c.Readers)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	r.printf("%s: %s", r.s.KeyName(k), strings.Join(all, " | "))
}

// printTxn prints what is known of n.
func (r *room) printTxn(n uint32) {
	start, end, open := r.s.Span(n)
	r.printf("%s from %d to %d, counts %v, pending %v, unknown %v", r.name(n), start/millisecond, end/millisecond, r.s.Counts(n), r.s.Pending(n), open)
	var missed []string
	for _, x := range r.s.ExternalReads(nil, n) {
		again := ""
		if x.Reread {
			again = ", another version before"
		}
		r.printf("%s read %s of %s, operations %d to %d%s", r.name(n), r.version(x.Version), r.name(x.Writer), x.First, x.Last, again)
	}
	var wrote []string
	for _, k := range r.s.WrittenKeys(nil, n) {
		if r.s.Keys[k].Flags&ledger.Element == 0 {
			wrote = append(wrote, r.s.KeyName(k))
		}
	}
	slices.Sort(wrote)
	if len(wrote) > 0 {
		r.printf("%s wrote %s", r.name(n), strings.Join(wrote, " "))
	}
	r.s.SureReads(n, func(v, w uint32) { r.printf("%s found %s, surely of %s", r.name(n), r.version(v), r.name(w)) })
	r.s.EachBlindRead(n, func(_, v uint32) { r.printf("%s read %s, whose place is not known", r.name(n), r.version(v)) })
	r.s.EachBlindWrite(n, func(_, v uint32) { r.printf("%s wrote %s blindly", r.name(n), r.version(v)) })
	r.s.EachOpenRead(n, 1<<61, func(v uint32, writers int, sure bool) {
		r.printf("%s read %s of one of %d, sure %v", r.name(n), r.version(v), writers, sure)
	})
	if proofs, ok := r.s.Proofs(nil, n); !ok || len(proofs) > 0 {
		var all []string
		for _, group := range proofs {
			for _, v := range group {
				all = append(all, r.value(v))
			}
		}
		r.printf("%s is proved by %s: %v", r.name(n), strings.Join(all, ", "), ok)
	}
	for k := range r.s.Keys {
		for v := range r.s.Versions {
			if r.s.Versions[v].Key != uint32(k) || k == 0 {
				continue
			}
			if m := r.s.Missed(n, uint32(v)); m != 0 && m != uint32(v) {
				missed = append(missed, fmt.Sprintf("%s has missed %s of %s", r.version(uint32(v)), r.version(m), r.name(n)))
			}
			if r.s.Overwrote(n, uint32(v)) {
				missed = append(missed, fmt.Sprintf("%s overwrote %s", r.name(n), r.version(uint32(v))))
			}
		}
	}
	slices.Sort(missed)
	r.printed = append(r.printed, missed...)
	if x := r.s.Successor(n); x != 0 {
		r.printf("%s is followed by %s", r.name(n), r.name(x))
	}
	if key, ok := r.s.Unattributed(n); ok {
		r.printf("%s read of %s what nobody is known to have written", r.name(n), key)
	}
	if watchers := r.s.Observers(nil, n); len(watchers) > 0 {
		r.printf("%s is observed by %s", r.name(n), r.sorted(watchers))
	}
}
