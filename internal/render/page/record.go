package page

import (
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/scene"
)

// Record is the record of a transaction: as it came in, where that is kept, and as it was decoded.
type Record struct {
	Came    []Came
	Decoded string // "": the finding does not carry it, or it came in like that
	Hidden  bool   // hashes stand in place of values: what came in is not shown
}

// Came is a record as it came in. A transaction of operation-level records has several.
type Came struct {
	Position string
	Text     string
	Binary   bool // Text shows bytes
	Cut      int  // so many bytes follow
}

// recordOf is the record of a member; nil where there is nothing of it.
func (o *Options) recordOf(f *finding.Finding, m *scene.Member) *Record {
	r := &Record{Decoded: readable(m.Raw), Hidden: f.Hidden}
	came := rawOf(f, m)
	for i := range came {
		x := &came[i]
		if f.Hidden {
			continue
		}
		c := Came{Position: o.Place(x.Position), Text: x.Text, Cut: x.Cut}
		if len(x.Bytes) > 0 {
			c.Text, c.Binary = hex.Dump(x.Bytes), true
		}
		r.Came = append(r.Came, c)
	}
	if r.Decoded == "" && len(r.Came) == 0 {
		return nil
	}
	if len(r.Came) == 1 && r.Came[0].Text == r.Decoded {
		r.Decoded = "" // the same again
	}
	return r
}

// rawOf are the records of a member as they came in. If two members have one id, each has the records at its position.
func rawOf(f *finding.Finding, m *scene.Member) (all []finding.Raw) {
	for _, r := range f.Raw {
		if r.Txn == m.ID && (m.Of == "" || r.Position == m.Position) {
			all = append(all, r)
		}
	}
	return all
}

// positionOf is where the record of a member begins in the input. A finding tells it of those that it names. A record
// as it came in has its own.
func positionOf(f *finding.Finding, m *scene.Member) string {
	if m.Position == "" {
		if i := slices.IndexFunc(f.Raw, func(r finding.Raw) bool { return r.Txn == m.ID }); i >= 0 {
			return f.Raw[i].Position
		}
	}
	return m.Position
}

var instants = regexp.MustCompile(`"(start|end)":(\d{1,19})\b`)

// readable is a record with its times as people write them, to search the input for. The record has its times
// before its operations. Both forms are the same record.
func readable(raw []byte) string {
	head, ops, found := strings.Cut(string(raw), `"ops":`)
	head = instants.ReplaceAllStringFunc(head, func(s string) string {
		name, digits, _ := strings.Cut(s, ":")
		ns, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return s
		}
		return name + `:"` + time.Unix(0, ns).UTC().Format(time.RFC3339Nano) + `"`
	})
	if found {
		head += `"ops":`
	}
	return head + ops
}
