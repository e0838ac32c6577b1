package engine

import (
	"encoding/binary"

	"github.com/isowatch/isowatch/store"
)

// Spaces of the store.
const (
	spaceHead     store.Space = 'h' // "head" -> head, JSON; "secret" -> what hides values
	spaceCursor   store.Space = 'p' // partition -> ingest.Cursor, JSON
	spaceDelta    store.Space = 'd' // step, part (8+2 bytes) -> piece of a delta
	spaceFinding  store.Space = 'f' // id -> order (8 bytes), finding, JSON
	spaceOrder    store.Space = 'i' // order (8 bytes) -> id
	spaceOutbox   store.Space = 'o' // sequence (8 bytes) -> finding, JSON
	spaceSink     store.Space = 'c' // sink -> sequence delivered (8 bytes), what the sink remembers
	spaceDead     store.Space = 'l' // number (8 bytes) -> DeadLetter, JSON
	spacePane     store.Space = 'n' // source, 0, start (8 bytes) -> window.Pane, JSON
	spaceSpill    store.Space = 's' // source, kind, hash, piece (2+1+16+1 bytes) -> retained state: see needs.go
	spaceAssembly store.Space = 'a' // step, part (8+2 bytes) -> piece of what changed of open transactions
	spaceMark     store.Space = 'g' // group of findings -> how people marked it, JSON; retention keeps it
	spaceIncident store.Space = 'e' // time, number (8+2 bytes) -> what happened to the monitor, JSON
	spaceRaw      store.Space = 'r' // id of a finding -> its records as they came in, JSON
	deltaPart                 = 512 << 10
)

func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func deltaKey(step uint64, part int) []byte {
	return binary.BigEndian.AppendUint16(key64(step), uint16(part))
}

// head is the record that every commit rewrites: it tells where the next entries go.
type head struct {
	Step    uint64 `json:"step"`    // of the last committed step
	Order   uint64 `json:"order"`   // findings stored
	Outbox  uint64 `json:"outbox"`  // deliveries written
	Trimmed uint64 `json:"trimmed"` // up to here they are removed
	Dropped uint64 `json:"dropped"` // of these, before every sink was given them
	// OutboxBytes is the size of the deliveries that are not removed.
	OutboxBytes int64  `json:"outbox_bytes"`
	Dead        uint64 `json:"dead"` // dead letters written
	// Retention removed findings up to the order Forgotten, and dead letters up to DeadForgotten.
	// FindingBytes and DeadBytes count the rest, from the time when they began to be counted.
	Forgotten    uint64 `json:"forgotten,omitempty"`
	FindingBytes int64  `json:"finding_bytes,omitempty"`
	// Findings up to the order Bare have lost their records, where that is configured.
	Bare          uint64  `json:"bare,omitempty"`
	DeadForgotten uint64  `json:"dead_forgotten,omitempty"`
	DeadBytes     int64   `json:"dead_bytes,omitempty"`
	Removed       Removed `json:"removed"`
	// The steps from Assembly on hold the changes of open transactions. Changes of steps before
	// AssemblyGone are removed.
	Assembly     uint64 `json:"assembly,omitempty"`
	AssemblyGone uint64 `json:"assembly_gone,omitempty"`
	Version      int    `json:"version"`        // of this layout
	Tick         int64  `json:"tick,omitempty"` // of the last committed step, ns since the Unix epoch
}

// layoutVersion is the version of the spaces above, of deltas and of a snapshot's meta.
//
// - 2 adds readers' news and configurations to deltas, and removes deliveries.
// - 3 adds retained state, the records that were read of it, and a delta's length.
// - 4 adds the bounds that transactions in assembly set to watermarks.
// - 5 keeps transactions in assembly as the changes of each step.
const layoutVersion = 5
