package engine

import (
	"encoding/json"
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/tape"
	"github.com/isowatch/isowatch/store"
)

// rawsOf are the records of each finding as they came in, JSON; nil where none is left on the tape.
func (e *Engine) rawsOf(findings []finding.Finding) [][]byte {
	if len(findings) == 0 {
		return nil
	}
	s := tape.NewSearch(findings)
	if !s.Idle() {
		e.tape.Find(s)
	}
	all := make([][]byte, len(findings))
	for i, list := range s.Raws() {
		if len(list) > 0 {
			all[i], _ = json.Marshal(list) // texts and numbers: it cannot fail
		}
	}
	return all
}

// putRaws writes the records of a step's findings as they came in. The last of several revisions counts.
func (e *Engine) putRaws(x *effect, h *head, out *writes) error {
	last := map[string]int{}
	for i := range x.raws {
		if x.raws[i] != nil && !slices.Contains(x.fallen, x.ids[i]) {
			last[x.ids[i]] = i
		}
	}
	for i := range x.raws {
		if at, ok := last[x.ids[i]]; !ok || at != i {
			continue
		}
		if err := e.putRaw([]byte(x.ids[i]), x.raws[i], h, out); err != nil {
			return err
		}
	}
	return nil
}

// putRaw writes the records of a finding as they came in. Records that an earlier revision took stay, although they have left the tape.
func (e *Engine) putRaw(id, text []byte, h *head, out *writes) error {
	old, err := e.store.Get(spaceRaw, id)
	if err != nil {
		return err
	}
	if old != nil {
		if text, err = withOlder(text, old); err != nil {
			return err
		}
	}
	h.FindingBytes += int64(len(text) - len(old))
	return out.early(spaceRaw, id, text)
}

// withOlder adds older records at other positions to the records of text, within the bound.
func withOlder(text, old []byte) ([]byte, error) {
	var list, before []finding.Raw
	if json.Unmarshal(old, &before) != nil {
		return text, nil
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	left := tape.MaxFinding
	for i := range list {
		left -= list[i].Size()
	}
	for _, b := range before {
		if slices.ContainsFunc(list, func(r finding.Raw) bool { return r.Txn == b.Txn && r.Position == b.Position }) {
			continue
		}
		if left -= b.Size(); left >= 0 {
			list = append(list, b)
		}
	}
	return json.Marshal(list)
}

// dropRaw removes them.
func (e *Engine) dropRaw(id []byte, h *head, put func(store.Entry) error) error {
	value, err := e.store.Get(spaceRaw, id)
	if err != nil || value == nil {
		return err
	}
	h.FindingBytes = max(0, h.FindingBytes-int64(len(value)))
	return put(store.Entry{Space: spaceRaw, Key: append([]byte(nil), id...), Delete: true})
}
