package simtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/window"
)

// A stream that alerts is made smaller by what leaves it healthy under a complete capture: a key, an
// element of a list or a set with all that is about it, reads, and transactions that are rolled back.

// shrunkRecord is a record whose operations can be taken away.
type shrunkRecord struct {
	head map[string]json.RawMessage
	ops  []shrunkOp
}

type shrunkOp struct {
	text  json.RawMessage
	op    string
	key   string
	value string
}

// shrink returns the records that are left, one a line, and what is told of them.
func shrink(t *testing.T, cfg window.Config, records [][]byte) string {
	t.Helper()
	s := shrinker{t: t, cfg: cfg, like: likeness(accusations(t, cfg, records)[0])}
	for _, r := range records {
		s.records = append(s.records, parseShrunk(t, r))
	}
	for s.changed = true; s.changed; {
		s.changed = false
		s.withoutKeys()
		s.withoutElements()
		s.withoutRecords()
		s.withoutReads()
	}
	var b strings.Builder
	for _, r := range shrunkTexts(s.records) {
		fmt.Fprintf(&b, "%s\n", r)
	}
	for _, f := range accusations(t, cfg, shrunkTexts(s.records)) {
		fmt.Fprintf(&b, "%s\n", f.Explanation)
	}
	return b.String()
}

func parseShrunk(t *testing.T, record []byte) (r shrunkRecord) {
	t.Helper()
	var ops []json.RawMessage
	if err := json.Unmarshal(record, &r.head); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.head["ops"], &ops); err != nil {
		t.Fatal(err)
	}
	for _, o := range ops {
		r.ops = append(r.ops, parseShrunkOp(t, o))
	}
	return r
}

func parseShrunkOp(t *testing.T, text json.RawMessage) shrunkOp {
	t.Helper()
	var o struct {
		Op, Key string
		Value   json.RawMessage
	}
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return shrunkOp{text, o.Op, o.Key, string(o.Value)}
}

func shrunkTexts(records []shrunkRecord) (texts [][]byte) {
	for _, r := range records {
		var b bytes.Buffer
		b.WriteByte('{')
		for _, field := range []string{"txn", "session", "seq", "status", "start", "end", "commit_ts", "isolation"} {
			if v, ok := r.head[field]; ok {
				fmt.Fprintf(&b, "%q:%s,", field, v)
			}
		}
		b.WriteString(`"ops":[`)
		for i, o := range r.ops {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(o.text)
		}
		b.WriteString("]}")
		texts = append(texts, b.Bytes())
	}
	return texts
}

type shrinker struct {
	t       *testing.T
	cfg     window.Config
	records []shrunkRecord
	changed bool
	like    string // see likeness
}

var shrunkNames = regexp.MustCompile(`[a-z]+/[0-9]+|s[0-9]+-[0-9]+`)

// likeness returns what a smaller stream must tell first: another alert may be due to what was taken away.
func likeness(f finding.Finding) string {
	if f.Kind == finding.KindHorizon {
		return shrunkNames.ReplaceAllString(strings.Split(f.Explanation, "\n")[1], "#")
	}
	return f.Anomaly
}

// try keeps the smaller stream if it alerts.
func (s *shrinker) try(smaller []shrunkRecord) bool {
	if told := accusations(s.t, s.cfg, shrunkTexts(smaller)); len(told) == 0 || likeness(told[0]) != s.like {
		return false
	}
	s.records, s.changed = smaller, true
	return true
}

// only are the records with the operations that keep makes of theirs.
func (s *shrinker) only(keep func(o shrunkOp) (shrunkOp, bool)) (smaller []shrunkRecord) {
	for _, r := range s.records {
		next := shrunkRecord{head: r.head}
		for _, o := range r.ops {
			if o, ok := keep(o); ok {
				next.ops = append(next.ops, o)
			}
		}
		smaller = append(smaller, next)
	}
	return smaller
}

// each returns what is found in the operations, once each, in order.
func (s *shrinker) each(of func(o shrunkOp) (key, value string, ok bool)) (found [][2]string) {
	for _, r := range s.records {
		for _, o := range r.ops {
			if k, v, ok := of(o); ok && k != "unrelated" && !slices.Contains(found, [2]string{k, v}) {
				found = append(found, [2]string{k, v})
			}
		}
	}
	return found
}

func (s *shrinker) withoutKeys() {
	for _, k := range s.each(func(o shrunkOp) (string, string, bool) { return o.key, "", true }) {
		s.try(s.only(func(o shrunkOp) (shrunkOp, bool) { return o, o.key != k[0] }))
	}
}

func (s *shrinker) withoutElements() {
	elements := s.each(func(o shrunkOp) (string, string, bool) {
		return o.key, o.value, slices.Contains([]string{"add", "remove", "append"}, o.op)
	})
	for _, e := range elements {
		s.try(s.only(func(o shrunkOp) (shrunkOp, bool) {
			switch {
			case o.key != e[0]:
				return o, true
			case o.op == "r":
				return s.withoutElement(o, e[1]), true
			}
			return o, o.value != e[1]
		}))
	}
}

// withoutElement is a read that does not show the element.
func (s *shrinker) withoutElement(o shrunkOp, element string) shrunkOp {
	var shown []json.RawMessage
	if err := json.Unmarshal([]byte(o.value), &shown); err != nil {
		s.t.Fatal(err)
	}
	shown = slices.DeleteFunc(shown, func(v json.RawMessage) bool { return string(v) == element })
	left, err := json.Marshal(append([]json.RawMessage{}, shown...))
	if err != nil {
		s.t.Fatal(err)
	}
	return parseShrunkOp(s.t, bytes.Replace(o.text, []byte(`"value":`+o.value), []byte(`"value":`+string(left)), 1))
}

func isRead(o shrunkOp) bool { return o.op == "r" || o.op == "range" }

// withoutRecords takes transactions away, each with all its records: an outcome that is told later
// than the record of the unknown one is another thing without that.
func (s *shrinker) withoutRecords() {
	matters := func(id string) bool {
		return slices.ContainsFunc(s.records, func(r shrunkRecord) bool {
			return string(r.head["txn"]) == id && string(r.head["status"]) != `"aborted"` &&
				slices.ContainsFunc(r.ops, func(o shrunkOp) bool { return !isRead(o) && o.key != "unrelated" })
		})
	}
	var ids []string
	for _, r := range s.records {
		if id := string(r.head["txn"]); !slices.Contains(ids, id) && !matters(id) {
			ids = append(ids, id)
		}
	}
	for size := len(ids); size > 0; size /= 2 {
		for i := 0; i+size <= len(ids); {
			without := slices.DeleteFunc(slices.Clone(s.records), func(r shrunkRecord) bool { return slices.Contains(ids[i:i+size], string(r.head["txn"])) })
			if s.try(without) {
				ids = slices.Delete(ids, i, i+size)
			} else {
				i += size
			}
		}
	}
}

func (s *shrinker) withoutReads() {
	for i := range s.records {
		for j := 0; j < len(s.records[i].ops); {
			smaller := slices.Clone(s.records)
			smaller[i].ops = slices.Delete(slices.Clone(smaller[i].ops), j, j+1)
			if !isRead(s.records[i].ops[j]) || !s.try(smaller) {
				j++
			}
		}
	}
}
