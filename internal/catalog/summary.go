// Package catalog is an index in memory of stored findings: what lists filter by, what groups are
// made of, and what a search finds. It knows no store and no clock: its caller reads findings, and
// puts in what they say.
package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/pattern"
)

// Bounds of what a group is made of, and of what one finding is found by.
const (
	maxParts  = 20  // names, patterns of keys and endpoints of a group, each
	maxPart   = 200 // bytes of one of them
	maxTokens = 1024
)

// Group names findings of one cause: two code paths that conflict on keys of some patterns.
type Group struct {
	Source    string       `json:"source"`
	Anomaly   string       `json:"anomaly"`
	Kind      finding.Kind `json:"kind"`
	Names     []string     `json:"names"`     // of the transactions, each once, sorted
	Keys      []string     `json:"keys"`      // patterns of the keys of the edges, the same
	Endpoints []string     `json:"endpoints"` // the same
}

// Key tells groups apart: 16 hex digits. It is the same in every process.
func (g *Group) Key() string {
	h := sha256.New()
	text := func(s string) {
		h.Write(binary.AppendUvarint(nil, uint64(len(s)))) // a hash takes everything
		h.Write([]byte(s))
	}
	text(g.Source)
	text(g.Anomaly)
	text(string(g.Kind))
	for _, list := range [][]string{g.Names, g.Keys, g.Endpoints} {
		h.Write(binary.AppendUvarint(nil, uint64(len(list))))
		for _, s := range list {
			text(s)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// GroupOf is the group of a finding.
func GroupOf(f *finding.Finding) Group {
	keys := make([]string, 0, len(f.Edges))
	for i := range f.Edges {
		keys = append(keys, f.Edges[i].Key)
	}
	if f.About != nil {
		keys = append(keys, f.About.Key)
	}
	if f.Core != nil {
		for i := range f.Core.Edges {
			keys = append(keys, f.Core.Edges[i].Key)
		}
	}
	return groupOf(f.Source, f.Anomaly, f.Kind, f.Names, patterns(f.Epoch, keys), f.Endpoints)
}

func groupOf(source, anomaly string, kind finding.Kind, names map[string]string, keys []string, endpoints map[string]string) Group {
	g := Group{Source: source, Anomaly: anomaly, Kind: kind, Names: []string{}, Keys: keys, Endpoints: []string{}}
	for _, name := range names {
		g.Names = append(g.Names, name)
	}
	for _, endpoint := range endpoints {
		g.Endpoints = append(g.Endpoints, endpoint)
	}
	for _, list := range []*[]string{&g.Names, &g.Keys, &g.Endpoints} {
		*list = parts(*list)
	}
	return g
}

// patterns has the pattern of each key. Keys of a probe begin with their epoch, and each start of the monitor makes a new one.
// The groups of a cause, and their marks, outlive it.
func patterns(epoch string, keys []string) []string {
	all := make([]string, 0, len(keys))
	for _, key := range keys {
		var of []byte
		if rest, ok := strings.CutPrefix(key, epoch+"/"); ok && epoch != "" {
			of, key = append(of, "#/"...), rest
		}
		all = append(all, string(pattern.AppendNormal(of, []byte(key))))
	}
	return all
}

// parts are the texts that are not empty, short, sorted, each once.
func parts(list []string) []string {
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	for i, s := range list {
		list[i] = short(s)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), maxParts)]
}

// Cut says whether a part of a group may have been longer.
func Cut(part string) bool { return len(part) > maxPart-utf8.UTFMax }

func short(s string) string {
	if len(s) <= maxPart {
		return s
	}
	end := maxPart
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// Summary is the part of a finding that the catalog needs.
type Summary struct {
	Order       uint64 // of storing: greater is newer
	ID          string
	Group       Group
	State       finding.State
	Expected    bool
	Certain     bool
	First, Last int64 // when it was found, and when the last transaction ended of all that it stands for; ns since the Unix epoch, 0: not known
	Count       int64 // findings that it stands for, itself included
	Tokens      []string
	// EndedFirst and EndedLast are when its first and its last transaction ended by their records; without times
	// when it was found.
	EndedFirst, EndedLast int64
	Refutes               []string // levels, all
	// OldKey is the key of its group in programs that told the epochs of a probe apart. "": the same.
	OldKey string
}

// stored is the part of a stored finding that is read.
type stored struct {
	ID         string            `json:"id"`
	Source     string            `json:"source"`
	Epoch      string            `json:"epoch"`
	Kind       finding.Kind      `json:"kind"`
	State      finding.State     `json:"state"`
	Certain    bool              `json:"certain"`
	Anomaly    string            `json:"anomaly"`
	Count      int64             `json:"count"`
	Expected   bool              `json:"expected"`
	Txns       []string          `json:"txns"`
	Names      map[string]string `json:"names"`
	Endpoints  map[string]string `json:"endpoints"`
	About      *finding.About    `json:"about"`
	FoundAt    string            `json:"found_at"`
	DetectedAt string            `json:"detected_at"`
	Refutes    []string          `json:"refutes"`
	Also       []string          `json:"also_refutes"`
	Ended      []string          `json:"ended"`
	LastAt     string            `json:"last_at"`
	Edges      []keyed           `json:"edges"`
	Core       struct {
		Edges []keyed `json:"edges"`
	} `json:"core"`
	History []struct {
		Txn     string          `json:"txn"`
		Session string          `json:"session"`
		Name    string          `json:"name"`
		TraceID string          `json:"trace_id"`
		End     json.RawMessage `json:"end"`
		Ops     []struct {
			Key    string `json:"key"`
			Result []struct {
				Key string `json:"key"`
			} `json:"result"`
		} `json:"ops"`
	} `json:"history"`
}

// keyed is the part of an edge that is read.
type keyed struct {
	Key string `json:"key"`
}

// Summarize reads a stored finding.
func Summarize(order uint64, text []byte) (Summary, error) {
	var x stored
	if err := json.Unmarshal(text, &x); err != nil {
		return Summary{}, fmt.Errorf("finding: %w", err)
	}
	keys := make([]string, 0, len(x.Edges))
	for i := range x.Edges {
		keys = append(keys, x.Edges[i].Key)
	}
	if x.About != nil {
		keys = append(keys, x.About.Key)
	}
	for i := range x.Core.Edges {
		keys = append(keys, x.Core.Edges[i].Key)
	}
	s := Summary{
		Order: order, ID: x.ID, Group: groupOf(x.Source, x.Anomaly, x.Kind, x.Names, patterns(x.Epoch, keys), x.Endpoints),
		State: x.State, Expected: x.Expected, Certain: x.Certain, Count: max(x.Count, 1),
		First: instant(cmp.Or(x.FoundAt, x.DetectedAt)),
	}
	s.Refutes = append(x.Refutes, x.Also...)
	if x.Epoch != "" && slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, x.Epoch+"/") }) {
		former := groupOf(x.Source, x.Anomaly, x.Kind, x.Names, patterns("", keys), x.Endpoints)
		s.OldKey = former.Key()
	}
	s.EndedFirst, s.EndedLast = x.ended(s.First)
	s.Last = max(s.EndedLast, instant(x.LastAt))
	s.Tokens = append(append(s.Tokens, x.Txns...), keys...)
	for _, name := range x.Names {
		s.Tokens = append(s.Tokens, name)
	}
	for _, endpoint := range x.Endpoints {
		s.Tokens = append(s.Tokens, endpoint)
	}
	for i := range x.History {
		h := &x.History[i]
		s.Tokens = append(s.Tokens, h.Txn, h.Session, h.Name, h.TraceID)
	}
	for i := range x.History { // what is cut, if anything, are keys
		for _, op := range x.History[i].Ops {
			s.Tokens = append(s.Tokens, op.Key)
			for _, row := range op.Result {
				s.Tokens = append(s.Tokens, row.Key)
			}
		}
	}
	return s, nil
}

// ended is when the first and the last transaction ended; without times it is when the finding was found.
func (x *stored) ended(found int64) (first, last int64) {
	if len(x.Ended) == 2 {
		return instant(x.Ended[0]), instant(x.Ended[1])
	}
	known := false
	for i := range x.History {
		at, ok := finding.Instant(x.History[i].End)
		if !ok || !slices.Contains(x.Txns, x.History[i].Txn) {
			continue
		}
		if !known {
			first, last, known = at, at, true
		}
		first, last = min(first, at), max(last, at)
	}
	if !known {
		return found, found
	}
	return first, last
}

func instant(text string) int64 {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0
	}
	return at.UnixNano()
}
