package isolation

import (
	"encoding/json"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// maxHistory bounds the records that a finding carries, in bytes.
const maxHistory = 32 << 10

// SetHistory notes the transactions that f rests on as records, so that the finding
// can be made again from these alone: monitor check --contract start=existing. None
// are noted where they are larger than 32 KiB. Findings may share a text, which nobody changes.
func SetHistory(f *finding.Finding, txns []event.Record, textOf func(*event.Record) []byte) {
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
}
