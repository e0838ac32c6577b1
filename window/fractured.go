package window

import (
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// fractured looks for a worse anomaly than a lost update: one of the two also read from the
// other one, and missed its write. It is told whichever levels are watched, and takes the place
// of the lost update. No level below read atomic has the anti-dependency in its order. From
// snapshot isolation on, no level looks for more than the loss. Where transactions asked for
// levels of their own, it is left to the orders.
func (h *finder) fractured(a *infer.Anomaly) {
	if len(h.asking.asked) > 0 {
		return
	}
	var worst fracture
	for _, p := range [...][2]uint32{{a.A, a.B}, {a.B, a.A}} {
		written := h.infer.Missed(p[0], a.Version)
		if written == 0 {
			continue
		}
		h.infer.EachReadFrom(p[0], p[1], func(read uint32) {
			if x, ok := h.fractureOf(p[0], p[1], read, written); ok && (worst.all == nil || x.worseThan(&worst)) {
				worst = x
			}
		})
	}
	if worst.all == nil {
		return
	}
	f := &openFinding{members: worst.all, versions: []uint32{a.Version, worst.read, worst.written}}
	f.Finding.Certain = a.Certain
	h.publish(f, worst.name, &worst.w)
}

// fracture is a read of one version that a transaction left, and a write of the same transaction that
// the reader missed.
type fracture struct {
	read, written uint32 // versions
	w             finding.Witness
	all           []uint32
	name          isolation.Name
}

// fractureOf is the cycle of a read of from's version, and of its write that by missed. ok is false
// where the records do not show it.
func (h *finder) fractureOf(from, by, read, written uint32) (x fracture, ok bool) {
	x.read, x.written = read, written
	x.w, x.all = h.witnessing(0).witnessOf([]step{
		{Edge: infer.Edge{From: from, To: by, Label: infer.WR, Version: read}},
		{Edge: infer.Edge{From: by, To: from, Label: infer.RW, Version: written}},
	})
	if h.verify(&x.w) != nil || h.unproven(x.all) != 0 {
		return x, false
	}
	x.name = h.reports.weigh(&x.w)
	return x, true
}

func (x *fracture) worseThan(y *fracture) bool {
	return !covers(y.name.Weakest, x.name.Weakest)
}
