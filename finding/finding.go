package finding

import "encoding/json"

// Kind says what a finding is.
type Kind string

const (
	KindViolation Kind = "violation" // the recorded operations contradict a level
	KindHorizon   Kind = "horizon"   // an edge could not be placed: replay decides
	KindGap       Kind = "gap"       // input is known to be lost
	KindRecord    Kind = "record"    // a record contradicts another or itself
)

// WeakerThanExpected is the anomaly, of KindRecord, of transactions that ask for less than
// their source is expected to give.
const WeakerThanExpected = "weaker-than-expected"

// EndpointLabel is the label of a record that names the server its client spoke to.
const EndpointLabel = "endpoint"

// State is where a finding is in its life.
type State string

const (
	Waiting          State = "waiting" // not due: a record on its way could take it back. Told to nobody
	Provisional      State = "provisional"
	Final            State = "final"
	Withdrawn        State = "withdrawn"
	ResolvedOK       State = "resolved-ok" // replayed without a violation; WeakerThanExpected: it has stopped
	ResolvedViolated State = "resolved-violated"
)

// Finding is the record of an anomaly, as every output prints it (docs/findings.md).
type Finding struct {
	ID       string   `json:"id"`
	Source   string   `json:"source"`
	Epoch    string   `json:"epoch,omitempty"`
	Kind     Kind     `json:"kind"`
	State    State    `json:"state"`
	Revision int      `json:"revision"`
	Certain  bool     `json:"certain"`
	RestsOn  []string `json:"rests_on,omitempty"` // contract key=value that it takes for granted
	AtLeast  bool     `json:"at_least,omitempty"`
	Anomaly  string   `json:"anomaly"`
	Title    string   `json:"title"`
	Guidance
	Refutes       []string          `json:"refutes"`
	AlsoRefutes   []string          `json:"also_refutes"`
	ElleNot       []string          `json:"elle_not,omitempty"`
	Count         int64             `json:"count,omitempty"` // findings that it stands for, itself included: they share data edges with it
	Expected      bool              `json:"expected"`        // the expected level allows it: counted, not alerted
	Txns          []string          `json:"txns"`
	Levels        map[string]string `json:"levels,omitempty"`
	Names         map[string]string `json:"names,omitempty"`     // of transactions that have one
	During        []Mark            `json:"during,omitempty"`    // what happened beside them, the latest last
	Endpoints     map[string]string `json:"endpoints,omitempty"` // by id, the transaction's label EndpointLabel
	Edges         []Edge            `json:"edges,omitempty"`
	About         *About            `json:"about,omitempty"`     // without edges: the read that shows it
	Positions     map[string]string `json:"positions,omitempty"` // of the records in the input, by the transaction's id
	Explanation   string            `json:"explanation"`
	Command       string            `json:"command,omitempty"`
	FirstPosition string            `json:"first_position,omitempty"`
	LastPosition  string            `json:"last_position,omitempty"`
	FoundAt       string            `json:"found_at,omitempty"`    // RFC 3339: when the monitor saw it first
	DetectedAt    string            `json:"detected_at,omitempty"` // when this revision left, or began to wait
	History       []json.RawMessage `json:"history,omitempty"`     // records of the transactions that it rests on
	NoEvidence    bool              `json:"no_evidence,omitempty"` // retention has dropped its history
	Raw           []Raw             `json:"raw,omitempty"`         // records as they came in: set where one finding is asked for, and not sent to sinks
	Ends
	Grounds
	WithdrawnBy string `json:"withdrawn_by,omitempty"` // of one that had left and was withdrawn: LateRecord, LateOutcome, Repetition or OtherRecord
	Hidden      bool   `json:"hidden,omitempty"`       // hashes stand in place of values in its texts and edges
	Cut         bool   `json:"cut,omitempty"`          // there are more transactions or edges than it names
	PageURL     string `json:"page_url,omitempty"`     // of its page: set on its way to a sink, and not stored. The last key (alert)
}

// Causes of a withdrawal.
const (
	LateRecord  = "late-record"  // a record came after the lateness
	LateOutcome = "late-outcome" // the outcome of a transaction came after it had been unknown
	Repetition  = "repetition"   // a value came a second time, so that it does not name its writer
	OtherRecord = "other"        // another record: of a transaction that ran for longer than max-transaction, for example
)

// Guidance tells a person about a finding.
type Guidance struct {
	Headline string   `json:"headline,omitempty"` // what happened, in one sentence
	Meaning  string   `json:"meaning,omitempty"`  // what that means in practice
	Causes   []string `json:"causes,omitempty"`   // the likely ones, the likeliest first
	Next     []string `json:"next,omitempty"`     // what to do, in this order
}

// Ends says when transactions ended where the history of a finding does not say it. All are RFC 3339.
type Ends struct {
	Ended  []string `json:"ended,omitempty"`   // with NoEvidence: its first and its last one
	LastAt string   `json:"last_at,omitempty"` // with Count: the last one of all that are counted
}

// Mark is something that happened beside the transactions, a fault that was injected for
// example, as their source was told (docs/format.md).
type Mark struct {
	Name  string `json:"name"`
	Text  string `json:"text,omitempty"`
	Start string `json:"start"`         // RFC 3339
	End   string `json:"end,omitempty"` // "": it had not ended when the finding left
}

// About is the read that shows an anomaly without a cycle.
type About struct {
	Txn   string `json:"txn"`
	Op    int    `json:"op"` // its place in the record's list of operations, from 0
	Key   string `json:"key"`
	Value string `json:"value,omitempty"` // canonical JSON: what the anomaly is about
	// ClockDrift is how far two clients' clocks may be apart, as in "100ms": of nonlinearizable, where times prove an order.
	ClockDrift string `json:"clock_drift,omitempty"`
}

// Grounds has the proof of some findings without a cycle.
type Grounds struct {
	Core            *Core             `json:"core,omitempty"`             // of results without an order
	SecondPositions map[string]string `json:"second_positions,omitempty"` // of second records with these ids, which are not kept: contradictory-record
}

// Core has the operations and the dependencies of a finding whose orders were all tried.
type Core struct {
	Ops   []Op   `json:"ops,omitempty"`   // without the reads among them, there would be an order
	Edges []Edge `json:"edges,omitempty"` // dependencies that hold in each order: not a cycle
}

// Op is an operation of a finding's record.
type Op struct {
	Txn string `json:"txn"`
	Op  int    `json:"op"` // its place in the record's list of operations, from 0
}

// Edge is one edge of a finding's cycle, with what proves it.
type Edge struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Type     string `json:"type"` // ww, wr, rw, process, realtime
	Key      string `json:"key,omitempty"`
	Value    string `json:"value,omitempty"` // canonical JSON
	Evidence string `json:"evidence"`
	Derived  bool   `json:"derived,omitempty"`  // it follows from others: the evidence tells how
	ShownBy  string `json:"shown_by,omitempty"` // the transaction whose read of a list shows it, where that is a third one
}
