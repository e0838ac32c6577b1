package window

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// TotalsOff says why totals of counters that are read together are not compared: a check of
// totals needs the whole history of each counter.
type TotalsOff struct {
	Reason   string `json:"reason"`
	Counters int    `json:"counters,omitempty"` // that were read together; 0: all are meant
}

// String says it as a sentence.
func (x *TotalsOff) String() string {
	if x.Counters == 0 {
		return fmt.Sprintf("Totals of counters are not compared: %s.", x.Reason)
	}
	return fmt.Sprintf("Totals of %s read together are not compared: %s.", finding.Counted(int64(x.Counters), "counter that is", "counters that are"), x.Reason)
}

// unbalanced is the first transaction that added to counters something else than nothing.
type unbalanced struct {
	Txn string
	Sum int64
}

// TotalsOff is why some totals, or all, are not compared; nil where all are, and where no
// transaction has read several counters. In whole histories it is nil.
func (m *Machine) TotalsOff() *TotalsOff {
	x := &m.cfg.Contract
	switch {
	case !m.sums.counting.Together:
		return nil
	case !x.Complete:
		return &TotalsOff{Reason: "the capture is partial, so that an increment may have no record: declare capture=complete where it is"}
	case x.UnmonitoredWriters:
		return &TotalsOff{Reason: "transactions without a record may add to counters: declare unmonitored-writers=no where they do not"}
	case x.DeletesUnseen:
		return &TotalsOff{Reason: "a counter may have been deleted and started again: declare deletes=recorded where deletes have records"}
	case m.infer.Counters.Missing() > 0:
		return &TotalsOff{Reason: "records are missing, bad or contradictory"}
	}
	return m.sums.counting.Off
}

// unbalance notes that t added the sum, or more than can be followed, to the counters below root.
func (c *counting) unbalance(b *event.Batch, t *event.Txn, root int32, sum int64) {
	c.Keys[root].Unbalanced = true
	if c.Keys[root].By == nil {
		c.Keys[root].By = &unbalanced{b.Text(t.ID), sum}
	}
}

// off notes that the totals of the counters are not compared, unless others are told already.
func (c *counting) off(counters []int32) {
	if c.Off != nil {
		return
	}
	for _, i := range counters {
		if by := c.Keys[c.root(i)].By; by != nil {
			c.Off = &TotalsOff{
				Reason:   fmt.Sprintf("transaction %s added %d to them, all in all. Leave the record of an opening deposit out, and declare start=existing", by.Txn, by.Sum),
				Counters: len(counters),
			}
			return
		}
	}
	if slices.ContainsFunc(counters, func(i int32) bool { return c.Keys[i].GivenUp }) {
		c.Off = &TotalsOff{Reason: "one of them was written as a whole or deleted, or something that is not an integer was added to it", Counters: len(counters)}
		return
	}
	c.Off = &TotalsOff{Reason: "amounts are moved between them and others that are not read with them", Counters: len(counters)}
}
