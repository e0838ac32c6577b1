package ledger

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
)

// Ledger has the transactions, their sessions, the keys, their versions, and who wrote and read them.
// It finds edges, and knows which transactions have left.
type Ledger struct {
	Opt Options

	Txns           []Txn
	Keys           []Key
	Versions       []Version
	Writes         []Write
	Readers        []Reader
	Sessions       []Session
	Seqs           []SeqSet       // by session
	SeqWords       int64          // of all Seqs
	SessionIndexes []SessionIndex // by session

	Free freeNumbers

	ByID, ByKey, ByVersion, BySession Index
	Records, Names                    Arena

	Absence DueQueue
	Values  Filter   // (key, value) pairs that left memory
	Twice   Filter   // reads whose version had several possible writers
	Aborts  Filter   // as values, of aborted transactions
	Ids     idFilter // ids that left memory

	Spill spill

	Gen             uint32
	BegunRetired    int64 // greatest start of a transaction that has retired, where Options.Linear
	HasSessionOrder bool  // some transaction that counts had a place in a session
	BaselineEnds    int64
	Greatest        int64 // greatest end of a transaction whose id is in Ids
	Counters        Counters
	ReadCounts      Reads

	// Scratch of the transaction in work; no state.
	Out  *Out
	Held []uint32 // transactions named by the last step's anomalies
	// HeldVersions are the versions that they are about.
	HeldVersions []uint32
	Scratch      event.Batch
	Decoder      event.Decoder
}

// freeNumbers are the numbers of rows that hold nothing, by table.
type freeNumbers struct {
	Txns, Versions, Writes, Readers, Keys, Sessions flat.Slots
}
