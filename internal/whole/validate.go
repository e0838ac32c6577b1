package whole

import (
	"fmt"
	"io"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/ingest"
)

// Survey counts the contents of a file, and names what its records cannot reveal.
type Survey struct {
	File         string     `json:"file"`
	Format       string     `json:"format"`
	Records      int64      `json:"records"`
	Invalid      int64      `json:"invalid"`
	Faults       []Fault    `json:"faults"` // the first ones
	Doubts       []Doubt    `json:"doubts"` // what is valid, and likely a mistake
	Transactions int64      `json:"transactions"`
	Operations   int64      `json:"operations"`
	Limits       []Limit    `json:"limits"` // what the records cannot reveal
	Held         SurveyHeld `json:"held"`
}

// Fault is a record that cannot be used.
type Fault struct {
	Position string `json:"position"`
	Reason   string `json:"reason"`
}

// Limit is something that the records cannot reveal, and why.
type Limit struct {
	Cannot  string `json:"cannot"`
	Because string `json:"because"`
	Remedy  string `json:"remedy,omitempty"`
}

// SurveyHeld counts what transactions and operations carry.
type SurveyHeld struct {
	Session   int64 `json:"session"`
	Seq       int64 `json:"seq"`
	Times     int64 `json:"times"`
	Stale     int64 `json:"stale"`
	Isolation int64 `json:"isolation"`
	Committed int64 `json:"committed"`
	Aborted   int64 `json:"aborted"`
	Unknown   int64 `json:"unknown"`

	Reads       int64 `json:"reads"`
	Writes      int64 `json:"writes"`
	Appends     int64 `json:"appends"`
	Adds        int64 `json:"adds"` // and removes, of sets
	Incs        int64 `json:"incs"` // of counters
	CAS         int64 `json:"cas"`
	SilentCAS   int64 `json:"silent_cas"` // that failed and do not say what they saw
	Deletes     int64 `json:"deletes"`    // and removes from sets
	NotFound    int64 `json:"not_found"`  // reads that found nothing, without a version
	Ranges      int64 `json:"ranges"`
	Versions    int64 `json:"versions"`        // operations that name a version
	BlindWrites int64 `json:"blind_writes"`    // register writes without an own read of the key before, or a prev_version
	Repeated    int64 `json:"repeated_values"` // writes of a value that its key was given before, without a version
}

// maxFaults are listed; more are counted only.
const maxFaults = 100

// SurveyFile reads one recorded history. tell, unless nil, is told of what is read.
func SurveyFile(name string, standard io.Reader, tell func(bytes int)) (*Survey, error) {
	s := &surveyor{written: map[[2]event.Hash]bool{}, touched: map[event.Hash]bool{}}
	in, err := OpenRecording(name, standard, "")
	if err != nil {
		return nil, err
	}
	defer in.Close()
	in.Tell = tell
	s.File, s.Format, s.Faults = name, string(in.Format), []Fault{}
	s.batch.Partitions = []string{PartitionOf(name)}
	if in.Format == history.JSONL {
		in.lines = func(m ingest.Message) {
			s.doubts.line(m.Value, func() string { return s.batch.Where(event.Position{Offset: m.Offset}) })
		}
	}
	if err := in.Read(&s.decoder, &s.batch, func(string) error { s.take(); return nil }); err != nil {
		return nil, err
	}
	s.take()
	records := s.Records
	s.assembler.ExpireAll(&s.batch, 0) // what never ended
	s.take()
	s.Records = records
	s.Limits, s.Doubts = s.limits(), append([]Doubt{}, s.doubts.list...)
	return &s.Survey, nil
}

type surveyor struct {
	Survey
	decoder   event.Decoder
	assembler event.Assembler
	batch     event.Batch
	doubts    doubts
	written   map[[2]event.Hash]bool // key, value
	touched   map[event.Hash]bool    // keys that the transaction in work has used
}

// take counts what the batch holds and empties it. An invalid record is one that
// does not decode, or an operation-level one that fits no transaction.
func (s *surveyor) take() {
	b := &s.batch
	s.Records += int64(len(b.Txns) + len(b.Parts) + len(b.Marks) + len(b.Bad)) // before parts make further ones
	s.assembler.Add(b)
	for i := range b.Bad {
		s.Invalid++
		if len(s.Faults) < maxFaults {
			s.Faults = append(s.Faults, Fault{b.Where(b.Bad[i].Pos), b.Bad[i].Reason})
		}
	}
	for i := range b.Txns {
		s.txn(&b.Txns[i])
	}
	names := slices.Clone(b.Partitions)
	b.Reset()
	b.Partitions = append(b.Partitions, names...)
}

func (s *surveyor) txn(t *event.Txn) {
	if s.doubts.txn(&s.batch, t) {
		return // it was counted
	}
	s.Transactions++
	s.Operations += int64(t.NumOps)
	h := &s.Held
	for _, x := range []struct {
		is    bool
		count *int64
	}{
		{t.Session.Len > 0, &h.Session},
		{t.Session.Len > 0 && t.Flags&event.HasSeq != 0, &h.Seq},
		{t.Flags&event.HasTimes != 0, &h.Times},
		{t.Flags&event.Stale != 0, &h.Stale},
		{t.Isolation.Len > 0, &h.Isolation},
		{t.Status == event.Committed, &h.Committed},
		{t.Status == event.Aborted, &h.Aborted},
		{t.Status == event.Unknown, &h.Unknown},
	} {
		if x.is {
			*x.count++
		}
	}
	clear(s.touched)
	ops := s.batch.OpsOf(t)
	for i := range ops {
		s.op(&ops[i])
	}
}

func (s *surveyor) op(o *event.Op) {
	h := &s.Held
	switch o.Kind {
	case event.Read:
		h.Reads++
	case event.Write:
		h.Writes++
		if !s.touched[o.KeyHash] && !s.replaces(o) {
			h.BlindWrites++
		}
	case event.Append:
		h.Appends++
	}
	s.other(o)
	if o.Kind == event.Write && !s.tellsVersion(o) || o.Kind == event.Append {
		id := [2]event.Hash{o.KeyHash, o.ValueHash}
		if s.written[id] {
			h.Repeated++
		}
		s.written[id] = true
	}
	s.touched[o.KeyHash] = true
}

// tellsVersion says whether the operation names its version, which then tells it from others of
// the same value.
func (s *surveyor) tellsVersion(o *event.Op) bool {
	return o.Flags&event.HasExtra != 0 && s.batch.Extras[o.Extra].Version.Len > 0
}

// replaces says whether a write names the version that it replaced.
func (s *surveyor) replaces(o *event.Op) bool {
	return o.Flags&event.HasExtra != 0 && s.batch.Extras[o.Extra].PrevVersion.Len > 0
}

// other counts what operations of other kinds, and versions, are there.
func (s *surveyor) other(o *event.Op) {
	h := &s.Held
	versioned := s.tellsVersion(o)
	if versioned {
		h.Versions++
	}
	switch o.Kind {
	case event.Read:
		if o.Flags&event.NotFound != 0 && !versioned {
			h.NotFound++
		}
	case event.Insert:
		h.Writes++
		if !s.touched[o.KeyHash] {
			h.BlindWrites++
		}
	case event.CAS:
		h.CAS++
		if o.Flags&event.Success == 0 && s.batch.Extras[o.Extra].Seen.Len == 0 {
			h.SilentCAS++
		}
	case event.Delete:
		h.Deletes++
	case event.Add:
		h.Adds++
	case event.Remove:
		h.Adds++
		h.Deletes++
	case event.Inc:
		h.Incs++
	case event.Range:
		h.Ranges++
	}
}

// limits follow from what is missing.
func (s *surveyor) limits() []Limit {
	h, n := &s.Held, s.Transactions
	all := []struct {
		is bool
		Limit
	}{
		{n == 0, Limit{"anything", "there are no transactions", ""}},
		{n > 0 && h.Reads+h.CAS+h.Ranges == 0, Limit{"any anomaly that a read shows", "there are no reads", "record what reads returned"}},
		{n > 0 && h.Writes+h.Appends+h.Adds+h.Incs+h.CAS+h.Deletes == 0, Limit{"any anomaly", "there are no writes", "record writes with the values written"}},
		{h.Session < n, Limit{"stale reads and other anomalies within a session",
			of(n-h.Session, n, "transactions name no session"), "set session to the single-threaded client, not to a pooled connection"}},
		{h.Seq < h.Session, Limit{"records that are missing from a session",
			of(h.Session-h.Seq, h.Session, "transactions of a session have no seq"), "count each session's transactions in seq"}},
		{h.Times < n, Limit{"real-time order; windows count transactions instead of time",
			of(n-h.Times, n, "transactions have no start and end"), "set start and end from the client's clock"}},
		{
			h.BlindWrites > 0,
			Limit{
				"the order in which some keys were written, and anomalies that need it",
				of(
					h.BlindWrites,
					h.Writes,
					"register writes come without a read of the key before them in the transaction",
				),
				"read before writing, record prev_version, or use lists",
			},
		},
		{h.Repeated > 0, Limit{"which transaction a read of such a value saw; for registers, a search for the order of the writers finds a part of it",
			of(h.Repeated, h.Writes+h.Appends, "writes repeat a value that the key was given before"), "make values unique for their key"}},
		{h.SilentCAS > 0, Limit{"what such an operation saw",
			of(h.SilentCAS, h.CAS, "cas failed and do not say what they saw"), "record seen"}},
		{
			h.Deletes > 0 && h.NotFound+h.Ranges > 0,
			Limit{
				"stale reads of deleted keys that found nothing: the key may never have been there, or may be deleted",
				Plural(
					h.Deletes,
					"operation deletes",
					"operations delete",
				) + ", and reads that found nothing have no version",
				"record version with deletes, and with reads that find nothing; or mark rows as deleted in a column",
			},
		},
		{h.Incs > 0, Limit{"the order of increments: only sums are compared, and only a check of a whole history can say that a level holds",
			of(h.Incs, s.Operations, "operations increment counters"), "check whole histories"}},
		{n > 0 && h.Aborted == 0, Limit{"reads of aborted writes", "no transaction is recorded as aborted", "record aborted transactions too"}},
		{h.Stale > 0, Limit{"stale reads by the transactions that asked for them", of(h.Stale, n, "transactions are marked stale"), ""}},
	}
	limits := []Limit{}
	for _, x := range all {
		if x.is {
			limits = append(limits, x.Limit)
		}
	}
	return limits
}

func of(part, whole int64, what string) string {
	return fmt.Sprintf("%d of %d %s", part, whole, what)
}
