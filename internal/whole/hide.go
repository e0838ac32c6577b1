package whole

import (
	"crypto/rand"
	"encoding/json"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

// HideKey is a key of its own for the hashes of one answer, "" where values are shown.
func HideKey(show bool) string {
	if show {
		return ""
	}
	return rand.Text()
}

// HideFinding hides the values of f, which is the caller's own. The machine made its texts with hashes
// of the same key, or they are withheld.
func HideFinding(key string, f *finding.Finding) {
	if !f.Hidden && mayTell(f) {
		isolation.Withhold(f) // it was found while values were shown, or by a replay
	}
	f.Raw = nil // it is nothing but values
	var d event.Decoder
	var b event.Batch
	var history []json.RawMessage
	for _, text := range f.History {
		b.Reset()
		d.Decode(&b, event.Position{}, text)
		if len(b.Txns) != 1 {
			continue // it is left out: nothing else hides it
		}
		record := b.Record(&b.Txns[0])
		isolation.HideRecord(key, &record)
		history = append(history, event.AppendJSON(nil, &record))
	}
	f.History = history
}

// mayTell says whether the texts of a finding may tell values.
func mayTell(f *finding.Finding) bool {
	return f.Kind == finding.KindViolation || f.Kind == finding.KindRecord && f.Anomaly != finding.WeakerThanExpected || f.State == finding.ResolvedViolated
}
