package counters

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/registers"
)

// Totals has keys whose operations add.
type Totals struct {
	*registers.Registers
	holdings []holding // by version: see counted.go
	// Scratch.
	counted   []ownCount // counters that the transaction in work used
	following []uint32
}

// A counter's reads show a sum, and it is not known which increments are in it. So no edge follows from
// one read alone (Elle, 3: counters are not recoverable), unless operations tell versions: see
// counted.go. Without versions, the reads of a counter are only compared within each transaction. All
// increments and reads of a whole history are looked at together in its end, with [Totals.CounterTxns].

// Amount is the integer that o adds or read; nothing is 0.
func Amount(b *event.Batch, o *event.Op) (int64, bool) {
	if o.Flags&event.NotFound != 0 {
		return 0, true
	}
	if o.Value.Len == 0 {
		return 1, o.Kind == event.Inc // an inc without a value
	}
	v, err := strconv.ParseInt(string(b.Bytes(o.Value)), 10, 64)
	return v, err == nil && v > -1<<53 && v < 1<<53
}

// CounterUse is the amount that o, an operation of t, adds to a counter or read of it, with the
// counter's hash. is says whether its key is a counter, and o has an amount. An empty read is
// 0.
func (s *Totals) CounterUse(b *event.Batch, t *event.Txn, o *event.Op) (h event.Hash, v int64, is bool) {
	h = s.InEpoch(b, t, o.KeyHash)
	if k := s.LookupKey(h); k == 0 || !s.IsCounter(k) || s.Keys[k].Flags&ledger.Unsupported != 0 {
		return h, 0, false
	}
	v, is = Amount(b, o)
	return h, v, is
}

// SinceJoin says whether transaction n cannot have read from before the first record. It did
// not ask for old data. And it began later than every transaction without a record can have
// ended, by clocks apart by at most drift.
func (s *Totals) SinceJoin(n uint32, drift int64) bool {
	x := &s.Txns[n]
	return x.Flags&(ledger.HasTimes|ledger.Stale) == ledger.HasTimes && x.Start > s.BaselineEnds && x.Start-s.BaselineEnds > drift
}

// Joining is how long after the first record a transaction must begin for SinceJoin, ns.
func (s *Totals) Joining() int64 { return s.Opt.BaselineSpan + int64(s.Opt.ClockDrift) }

// maxAdded bounds what one transaction adds to a counter for its sum to be used.
const maxAdded = 1 << 61

// Counted is the work of a transaction on one counter.
type Counted struct {
	Key  uint32
	Inc  int64 // sum of its increments
	Read bool
	Seen int64  // the value of its first read, less its own increments before
	Op   uint32 // that read
	// At is the version that it names. Over is the version that the first increment says it replaced,
	// and Left the last one's version. They are hashes; 0 says that the operation names none.
	At, Over, Left uint64
	Added          bool // the counter has increments
	// Beyond says that Inc exceeds 2^61 either way: nothing is concluded from it.
	Beyond bool
}

// CounterTxn is a transaction that used counters.
type CounterTxn struct {
	Txn    uint32
	Counts bool // false: its outcome is unknown, and nobody has observed it
	Uses   []Counted
}

// CounterTxns are the transactions in memory that used counters and did not abort, in the order of
// their ends. O(all records) if there is a counter, else O(keys).
func (s *Totals) CounterTxns() []CounterTxn {
	if s.Counters.Countable == 0 {
		return nil
	}
	var all []CounterTxn
	at := map[uint32]int{}
	for n := range s.Txns {
		x := &s.Txns[n]
		if x.State != ledger.Counted && x.State != ledger.Tentative {
			continue
		}
		s.Scratch.Reset()
		if s.Decoder.DecodeRecord(&s.Scratch, event.Position{}, s.Records.Get(x.Record)) != nil {
			continue // not possible: the record was written by AppendRecord
		}
		t := CounterTxn{Txn: uint32(n), Counts: x.State == ledger.Counted}
		ops := s.Scratch.OpsOf(&s.Scratch.Txns[0])
		if len(at) > 0 {
			at = map[uint32]int{}
		}
		for i := range ops {
			s.countUse(&t, at, uint32(i), &ops[i])
		}
		if len(t.Uses) > 0 {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b CounterTxn) int {
		x, y := &s.Txns[a.Txn], &s.Txns[b.Txn]
		return cmp.Or(cmp.Compare(x.End, y.End), cmp.Compare(x.Id.Lo, y.Id.Lo))
	})
	return all
}

// countUse adds the i-th operation to t. The map has the places of the keys in t.Uses.
func (s *Totals) countUse(t *CounterTxn, places map[uint32]int, i uint32, o *event.Op) {
	k := s.LookupKey(s.InEpoch(&s.Scratch, &s.Scratch.Txns[0], o.KeyHash))
	if k == 0 || !s.IsCounter(k) || s.Keys[k].Flags&ledger.Unsupported != 0 {
		return
	}
	v, ok := Amount(&s.Scratch, o)
	if !ok {
		return // a read by an unknown outcome: where it counts, its key is given up
	}
	at, known := places[k]
	if !known {
		at = len(t.Uses)
		places[k] = at
		t.Uses = append(t.Uses, Counted{Key: k})
	}
	c := &t.Uses[at]
	switch {
	case o.Kind == event.Inc:
		version, prev := causes.VersionOf(&s.Scratch, o)
		if !c.Added {
			c.Over = nameOf(prev)
		}
		c.Added, c.Left = true, nameOf(version)
		if c.Inc += v; c.Inc > maxAdded || c.Inc < -maxAdded {
			c.Inc, c.Beyond = 0, true
		}
	case c.Read || o.Flags&event.NotFound != 0 && s.Txns[t.Txn].Flags&ledger.Unknown != 0:
	default:
		c.Read, c.Seen, c.Op = true, v-c.Inc, i
		if version, _ := causes.VersionOf(&s.Scratch, o); !c.Added {
			c.At = nameOf(version)
		}
	}
}

// nameOf is the hash of a version's text, 0 for none.
func nameOf(text []byte) uint64 {
	if len(text) == 0 {
		return 0
	}
	return ledger.VersionIdentity(text).Lo | 1
}
