package isolation

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/isowatch/isowatch/finding"
)

// Bounds of the texts that a finding prints, in bytes. A record may be 16 MiB, all of it one
// value, one key or one id. A finding goes to the store, to sinks and to pages as a whole.
const (
	maxName        = 1 << 10  // an id, a key, a name
	maxValue       = 4 << 10  // a value of an edge, and its evidence
	maxExplanation = 64 << 10 // and the command
	maxList        = 64 << 10 // ids of transactions together
	maxEdges       = 128 << 10
)

// Cut is text of at most so many bytes. A longer text keeps its beginning and its end. Between
// them stand its length and its xxh3, so that two texts stay two.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	mark := fmt.Sprintf("...(%d bytes, %016x)...", len(text), xxh3.HashString(text))
	end := max(0, (most-len(mark))/4)
	head, tail := max(0, most-len(mark)-end), len(text)-end
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + mark + text[tail:]
}

func cutName(text string) string { return Cut(text, maxName) }

// Bound cuts the texts that f prints to their bounds. The identity, the levels, and lists of
// others that share f's memory stay. It allocates only where it cuts.
func Bound(f *finding.Finding) {
	f.Source, f.Epoch = cutName(f.Source), cutName(f.Epoch)
	f.FirstPosition, f.LastPosition = cutName(f.FirstPosition), cutName(f.LastPosition)
	f.Explanation, f.Command = Cut(f.Explanation, maxExplanation), Cut(f.Command, maxExplanation)
	boundTxns(f)
	f.Edges = boundEdges(f, f.Edges)
	if c := f.Core; c != nil {
		f.Core = &finding.Core{Ops: boundOps(c.Ops), Edges: boundEdges(f, c.Edges)}
	}
	for _, of := range []*map[string]string{&f.Levels, &f.Names, &f.Endpoints, &f.Positions, &f.SecondPositions} {
		*of = boundMap(f, *of)
	}
	if a := f.About; a != nil {
		f.About = &finding.About{Txn: cutName(a.Txn), Op: a.Op, Key: cutName(a.Key), Value: a.Value, ClockDrift: a.ClockDrift}
	}
}

// boundTxns keeps the first transactions where all are too many.
func boundTxns(f *finding.Finding) {
	size, long := 0, false
	for _, id := range f.Txns {
		size += min(len(id), maxName)
		long = long || len(id) > maxName
	}
	if size <= maxList && !long {
		return
	}
	var txns []string
	size = 0
	for _, id := range f.Txns {
		id = cutName(id)
		if size += len(id); size > maxList {
			f.Cut = true
			break
		}
		txns = append(txns, id)
	}
	f.Txns = txns
}

// boundEdges keeps the first edges where all are too long.
func boundEdges(f *finding.Finding, all []finding.Edge) []finding.Edge {
	size, long := 0, false
	for i := range all {
		b := bounded(&all[i])
		size += sizeOf(&b)
		long = long || b != all[i]
	}
	if size <= maxEdges && !long {
		return all
	}
	var edges []finding.Edge
	size = 0
	for i := range all {
		b := bounded(&all[i])
		if size += sizeOf(&b); size > maxEdges {
			f.Cut = true
			break
		}
		edges = append(edges, b)
	}
	return edges
}

// boundOps are the operations, with ids as a finding has them.
func boundOps(all []finding.Op) []finding.Op {
	all = slices.Clone(all)
	for i := range all {
		all[i].Txn = cutName(all[i].Txn)
	}
	return all
}

func bounded(e *finding.Edge) finding.Edge {
	return finding.Edge{
		From: cutName(e.From), To: cutName(e.To), Type: e.Type, Key: cutName(e.Key),
		Value: Cut(e.Value, maxValue), Evidence: Cut(e.Evidence, maxValue), Derived: e.Derived, ShownBy: cutName(e.ShownBy),
	}
}

func sizeOf(e *finding.Edge) int {
	return len(e.From) + len(e.To) + len(e.ShownBy) + len(e.Key) + len(e.Value) + len(e.Evidence)
}

// boundMap is the part of of that speaks of the transactions that f names. It must follow
// boundTxns.
func boundMap(f *finding.Finding, of map[string]string) map[string]string {
	size, long := 0, f.Cut
	for id, text := range of {
		size += len(id) + len(text)
		long = long || len(id) > maxName || len(text) > maxName
	}
	if size <= maxList && !long {
		return of
	}
	byCut := make(map[string]string, len(of))
	for id, text := range of {
		byCut[cutName(id)] = cutName(text)
	}
	out := map[string]string{}
	size = 0
	for _, id := range f.Txns {
		if text, ok := byCut[id]; ok && size+len(id)+len(text) <= maxList {
			size += len(id) + len(text)
			out[id] = text
		}
	}
	return out
}

// shorten replaces the long names of w in a text that was made of it by their cut forms. The
// names are ids, sessions and keys.
func (w *witness) shorten(text string) string {
	if len(text) <= maxName {
		return text
	}
	replace := func(name string) {
		if len(name) > maxName {
			text = strings.ReplaceAll(text, name, cutName(name))
		}
	}
	for i := range w.Txns {
		t := &w.Txns[i]
		replace(t.ID)
		replace(t.Session)
		for j := range t.Ops {
			o := &t.Ops[j]
			replace(o.Key)
			replace(o.From)
			replace(o.To)
		}
	}
	return text
}
