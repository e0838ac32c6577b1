package window

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
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

// unbalanced names the first transaction whose increments do not add up to zero, with their sum.
type unbalanced struct {
	Txn string
	Sum int64
}

// TotalsOff is why some totals, or all, are not compared; nil where all are, and where no
// transaction has read several counters.
func (m *Machine) TotalsOff() *TotalsOff {
	s, x := &m.sums, &m.cfg.Contract
	c := &s.counting
	switch {
	case !c.Together:
		return nil
	case !x.Complete && !m.cfg.Unbounded: // a whole history compares them, and is not certain
		return &TotalsOff{Reason: "the capture is partial, so that an increment may have no record: declare capture=complete where it is"}
	case x.UnmonitoredWriters && !m.cfg.Unbounded:
		return &TotalsOff{Reason: "transactions without a record may add to counters: declare unmonitored-writers=no where they do not"}
	case x.DeletesUnseen:
		return &TotalsOff{Reason: "a counter may have been deleted and started again: declare deletes=recorded where deletes have records"}
	case m.infer.Counters.Missing() > 0 && !m.cfg.Unbounded:
		return &TotalsOff{Reason: "records are missing, bad or contradictory"}
	case c.Off != nil || c.Compared || !x.Existing:
		return c.Off
	}
	reason := "a transaction may have seen what came before the first record: declare start=empty where the counters began from nothing"
	if m.untimed {
		reason += ", or record `start` and `end`"
	} else {
		reason += fmt.Sprintf(". Else they are compared from %s after the first record on", finding.Lasting(time.Duration(m.infer.Joining())))
	}
	return &TotalsOff{Reason: reason}
}

// totalsText is a sentence that totals are not compared, "" if they are. It follows what a verdict says of open
// reads of counters. A wrong total can only refute read-atomic and the levels above.
func (m *Machine) totalsText(l isolation.Level) string {
	x := m.TotalsOff()
	if x == nil || l.Special != 0 || !l.Base.Implies(isolation.ReadAtomic) {
		return ""
	}
	return ". " + strings.TrimSuffix(x.String(), ".")
}

// off says that the totals of so many counters are not compared because of x.
func (x *unbalanced) off(counters int, existing bool) *TotalsOff {
	added := strconv.FormatInt(x.Sum, 10)
	if x.Sum == 0 {
		added = "more than can be followed"
	}
	reason := fmt.Sprintf("transaction %s added %s to them, all in all. Leave the record of an opening deposit out", x.Txn, added)
	if !existing {
		reason += ", and declare start=existing"
	}
	return &TotalsOff{Reason: reason, Counters: counters}
}

// unbalance notes that t added the sum, or more than can be followed, to the counters below root.
func (c *counting) unbalance(b *event.Batch, t *event.Txn, root int32, sum int64) {
	c.Keys[root].Unbalanced = true
	if c.Keys[root].By == nil {
		c.Keys[root].By = &unbalanced{b.Text(t.ID), sum}
	}
}

// off notes that the totals of the counters are not compared, unless others are told already.
func (c *counting) off(counters []int32, existing bool) {
	if c.Off != nil {
		return
	}
	for _, i := range counters {
		if by := c.Keys[c.root(i)].By; by != nil {
			c.Off = by.off(len(counters), existing)
			return
		}
	}
	if slices.ContainsFunc(counters, func(i int32) bool { return c.Keys[i].GivenUp }) {
		c.Off = &TotalsOff{Reason: "one of them was written as a whole or deleted, or something that is not an integer was added to it", Counters: len(counters)}
		return
	}
	c.Off = &TotalsOff{Reason: "amounts are moved between them and others that are not read with them", Counters: len(counters)}
}
