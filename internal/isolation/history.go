package isolation

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// maxHistory bounds the records that a finding carries, in bytes.
const maxHistory = 32 << 10

// SetHistory notes the transactions that f rests on as records, so that the finding
// can be made again from these alone: monitor check --contract start=existing. None
// are noted where they are larger than 32 KiB. Behind them are sources: see AddHistory. Findings may share a text, which nobody changes.
func SetHistory(f *finding.Finding, txns, sources []event.Record, textOf func(*event.Record) []byte) {
	f.History = nil
	size := 0
	for i := range txns {
		if txns[i].Status == 0 {
			continue // its record has left memory
		}
		text := textOf(&txns[i])
		if size += len(text); size > maxHistory {
			f.History = nil
			return
		}
		f.History = append(f.History, json.RawMessage(text))
	}
	AddHistory(f, sources, textOf)
}

// AddHistory notes sources, transactions that wrote what f's transactions read, unless they are there already. It stops
// where there is no room.
func AddHistory(f *finding.Finding, sources []event.Record, textOf func(*event.Record) []byte) {
	size := 0
	for i := range f.History {
		size += len(f.History[i])
	}
	all := slices.Clip(f.History)
	for i := range sources {
		if sources[i].Status == 0 {
			continue
		}
		text := textOf(&sources[i])
		if slices.ContainsFunc(all, func(known json.RawMessage) bool { return bytes.Equal(known, text) }) {
			continue
		}
		if size += len(text); size > maxHistory {
			return
		}
		all = append(all, text)
	}
	f.History = all
}
