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
	spaceMark     store.Space = 'g' // group of findings -> what people said of it, JSON; retention keeps it
	deltaPart                 = 512 << 10
)

func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func deltaKey(step uint64, part int) []byte {
	return binary.BigEndian.AppendUint16(key64(step), uint16(part))
}

// head is what every commit rewrites: where the next ones go.
type head struct {
	Step    uint64 `json:"step"`    // of the last committed step
	Order   uint64 `json:"order"`   // findings stored
	Outbox  uint64 `json:"outbox"`  // deliveries written
	Trimmed uint64 `json:"trimmed"` // up to here they are removed
	Dropped uint64 `json:"dropped"` // of these, before every sink was given them
	// OutboxBytes are those of the deliveries that are not removed.
	OutboxBytes int64  `json:"outbox_bytes"`
	Dead        uint64 `json:"dead"` // dead letters written
	// What retention removed: findings up to the order Forgotten, dead letters up to
	// DeadForgotten. The bytes are those of what is left, since they are counted.
	Forgotten     uint64  `json:"forgotten,omitempty"`
	FindingBytes  int64   `json:"finding_bytes,omitempty"`
	DeadForgotten uint64  `json:"dead_forgotten,omitempty"`
	DeadBytes     int64   `json:"dead_bytes,omitempty"`
	Removed       Removed `json:"removed"`
	// Open transactions are what the steps from Assembly on changed of them; what those
	// before AssemblyGone did is removed.
	Assembly     uint64 `json:"assembly,omitempty"`
	AssemblyGone uint64 `json:"assembly_gone,omitempty"`
	Version      int    `json:"version"` // of this layout
}

// layoutVersion is that of the spaces above and of what a delta and a snapshot's
// meta hold: 2 adds what readers say and configurations to deltas, and removes
// deliveries; 3 adds retained state, what was read of it, and a delta's length; 4
// adds what transactions in assembly hold back; 5 keeps these by what a step changed.
const layoutVersion = 5
