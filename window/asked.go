package window

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/isolation"
)

// What transactions asked for themselves (`isolation` in their records) promises them that
// much and no more, unless the contract says isolation=ignore.

// baseAsked is the level that the name stands for, 0 if it stands for none or is not to be
// looked at.
func (m *Machine) baseAsked(name []byte) isolation.Base {
	if m.cfg.Contract.IgnoreIsolation {
		return 0
	}
	if !bytes.Equal(name, m.lastName) || m.lastProduct != m.cfg.Product {
		m.lastName, m.lastProduct = append(m.lastName[:0], name...), m.cfg.Product
		m.lastBase = isolation.AskedOf(m.cfg.Product, name)
	}
	return m.lastBase
}

// ask notes the level that transaction n, t in the batch b, asked for.
func (m *Machine) ask(n uint32, b *event.Batch, t *event.Txn, end int64) {
	name := b.Bytes(t.Isolation)
	base := m.baseAsked(name)
	m.setAsked(n, base)
	if base == 0 || m.out.Again {
		return // it was counted when its outcome was not known
	}
	m.noteWeaker(b, t, base, end)
	if t.Status == event.Aborted {
		return // nothing is promised to it
	}
	m.askedFor = countAsked(m.askedFor, base)
	x := m.panes.at(end)
	x.asked = countAsked(x.asked, base)
	m.asManyMeanings = m.asManyMeanings || m.cfg.Product == "" && isolation.Ambiguous(name)
}

// countAsked counts one more in the counts by base.
func countAsked(by []int64, base isolation.Base) []int64 {
	for int(base) >= len(by) {
		by = append(by, 0)
	}
	by[base]++
	return by
}

func (m *Machine) setAsked(n uint32, base isolation.Base) {
	if base == 0 && len(m.asked) == 0 {
		return
	}
	for int(n) >= len(m.asked) {
		m.asked = append(m.asked, 0)
	}
	if m.searcher.Asked == nil {
		m.searcher.Asked = m.askedOf
	}
	m.asked[n] = base
}

// withoutLess is the verdict on l where that holds of what each transaction asked for: not
// ok if some asked for less than l. by counts them by what they asked for.
func (m *Machine) withoutLess(l isolation.Level, by []int64, verdict, reason string) (string, string) {
	less, n := []string{}, int64(0)
	for b := isolation.ReadUncommitted; b < l.Underlying() && int(b) < len(by); b++ {
		if by[b] > 0 {
			n += by[b]
			less = append(less, isolation.Level{Base: b}.String())
		}
	}
	if n == 0 || verdict == Violated || verdict == "" {
		return verdict, reason
	}
	why := fmt.Sprintf("%s (%s)", counted(n, "transaction asked for less", "transactions asked for less"), strings.Join(less, ", "))
	if m.asManyMeanings {
		why += ", by a name that means different levels in different products: it is taken as the weakest of them; name the product, as in --expect postgresql/repeatable-read"
	}
	if reason != "" {
		why = reason + "; " + why
	}
	return Unknown, why
}
