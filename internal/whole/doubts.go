package whole

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// Doubt is something in valid records that is likely a mistake.
type Doubt struct {
	Position string `json:"position"` // of the first such record
	Text     string `json:"text"`
	Records  int64  `json:"records"`
}

const (
	// maxDoubts are told.
	maxDoubts = 20
	// maxLooked are the records whose fields are looked at: a misspelt field is in all of them.
	maxLooked = 1000
	// maxIDs are known, some 400 MB. A record behind them repeats none that is known.
	maxIDs = 4 << 20
)

// doubts finds likely mistakes.
type doubts struct {
	list   []Doubt
	ids    map[[2]event.Hash]seenID // by the hashes of id, and of source and epoch
	looked int
	fields []string // that a record may have
}

// seenID tells an earlier record of the id from another one.
type seenID struct {
	content uint64
	unknown bool // its outcome
}

func (d *doubts) add(text, position string) {
	for i := range d.list {
		if d.list[i].Text == text {
			d.list[i].Records++
			return
		}
	}
	if len(d.list) < maxDoubts {
		d.list = append(d.list, Doubt{position, text, 1})
	}
}

// txn notes doubts about a transaction, and says whether it is a repetition of an earlier one.
func (d *doubts) txn(b *event.Batch, t *event.Txn) (repeated bool) {
	where := func() string { return b.Where(t.Pos) }
	if name := b.Bytes(t.Isolation); len(name) > 0 && !isolation.IsAsked(name) {
		d.add(fmt.Sprintf("no level is called %q: the expected level is taken for isolation", isolation.Cut(string(name), 60)), where())
	}
	if t.Flags&event.HasTimes != 0 {
		if text := window.Early(t.End); text != "" {
			d.add(text, where())
		}
	}
	if foreignVersion(b, t) {
		d.add("a read shows the version that its transaction gave to another key: a version must belong to the key. "+
			"Record the version of a row, such as xmin, under one key for the row, and not under one for each column", where())
	}
	if d.ids == nil {
		d.ids = map[[2]event.Hash]seenID{}
	}
	id := [2]event.Hash{t.IDHash, event.HashText(append(append(slices.Clone(b.Bytes(t.Source)), 0), b.Bytes(t.Epoch)...))}
	before, known := d.ids[id]
	content := event.ContentHash(b, t)
	switch {
	case known && before.content == content:
		d.add("the record is a repetition of an earlier one", where())
		return true
	case known && !before.unknown && t.Status != event.Unknown:
		d.add("the record has the id of an earlier one, and other content", where())
		return true
	case !known && len(d.ids) >= maxIDs:
	case !known || before.unknown:
		d.ids[id] = seenID{content, t.Status == event.Unknown}
	}
	return known
}

// foreignVersion says whether t read a key that it had not written, at a version that it had written to another key. Then keys
// stand for columns, and versions for rows.
func foreignVersion(b *event.Batch, t *event.Txn) bool {
	ops := b.OpsOf(t)
	ops = ops[:min(len(ops), 256)] // each is compared with those before it
	version := func(o *event.Op) []byte {
		if o.Flags&event.HasExtra == 0 {
			return nil
		}
		return b.Bytes(b.Extras[o.Extra].Version)
	}
	for i := range ops {
		o := &ops[i]
		v := version(o)
		if o.Kind != event.Read || len(v) == 0 {
			continue
		}
		other, own := false, false
		for j := range ops[:i] {
			if w := &ops[j]; w.Kind != event.Read {
				own = own || w.KeyHash == o.KeyHash
				other = other || w.KeyHash != o.KeyHash && bytes.Equal(version(w), v)
			}
		}
		if other && !own {
			return true
		}
	}
	return false
}

// line notes fields that are ignored, of records in JSON.
func (d *doubts) line(line []byte, where func() string) {
	if d.looked >= maxLooked {
		return
	}
	d.looked++
	var record map[string]json.RawMessage
	if json.Unmarshal(line, &record) != nil {
		return
	}
	d.unknownFields(record, where)
	var ops []map[string]json.RawMessage
	if json.Unmarshal(record["ops"], &ops) == nil {
		for _, o := range ops {
			d.unknownFields(o, where)
		}
	}
}

func (d *doubts) unknownFields(of map[string]json.RawMessage, where func() string) {
	if d.fields == nil {
		var schema any
		if json.Unmarshal([]byte(event.Schema), &schema) == nil {
			d.fields = properties(schema, nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if slices.Contains(d.fields, name) {
			continue
		}
		text := fmt.Sprintf("the field %q is ignored", isolation.Cut(name, 60))
		if meant := d.meant(name); meant != "" {
			text += ": did you mean " + meant + "?"
		}
		d.add(text, where())
	}
}

// meant is the field whose name is near, or has the same letters.
func (d *doubts) meant(name string) string {
	letters := func(text string) string {
		all := []byte(strings.ToLower(text))
		slices.Sort(all)
		return string(all)
	}
	for _, f := range d.fields {
		if letters(f) == letters(name) {
			return f
		}
	}
	if len(name) < 4 {
		return ""
	}
	return isolation.Closest(name, d.fields)
}

// properties are the names of all fields in a schema.
func properties(schema any, names []string) []string {
	switch s := schema.(type) {
	case map[string]any:
		for name, of := range s {
			if fields, ok := of.(map[string]any); ok && name == "properties" {
				names = append(names, slices.Sorted(maps.Keys(fields))...)
			}
			names = properties(of, names)
		}
	case []any:
		for _, of := range s {
			names = properties(of, names)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
