package oracle

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// Linearizable says by trial whether the registers of h are linearizable: whether, for
// each key, what each transaction did to it has an instant between its start and its
// end such that all results follow. One of unknown outcome has it at any time from its
// start on, or nowhere; that it found nothing, or that its cas saw nothing, says nothing.
func Linearizable(h History) bool {
	var unsure []int
	for i := range h {
		if h[i].Status == event.Unknown {
			unsure = append(unsure, i)
		}
	}
	for choice := range 1 << len(unsure) {
		e := h.Clone()
		for n, i := range unsure {
			if choice>>n&1 == 0 {
				e[i].Status = event.Aborted
			} else {
				e[i].End = math.MaxInt64
			}
		}
		if linearizable(e) {
			return true
		}
	}
	return false
}

// linearizable is Linearizable when all that did not abort took effect.
func linearizable(h History) bool {
	byKey := map[string][]*workload.Txn{}
	for i := range h {
		var keys []string
		for _, o := range h[i].Ops {
			if h[i].Status != event.Aborted && !slices.Contains(keys, o.Key) {
				keys = append(keys, o.Key)
				byKey[o.Key] = append(byKey[o.Key], &h[i])
			}
		}
	}
	for key, txns := range byKey {
		if !linearKey(key, txns, register{}) {
			return false
		}
	}
	return true
}

// register is a register: there or not.
type register struct {
	there bool
	value int64
}

// linearKey tries every transaction that no other one of those left precedes.
func linearKey(key string, left []*workload.Txn, at register) bool {
	if len(left) == 0 {
		return true
	}
	for i, t := range left {
		late := slices.ContainsFunc(left, func(o *workload.Txn) bool { return o.End < t.Start })
		if next, ok := applyTo(key, t, at); !late && ok && linearKey(key, slices.Delete(slices.Clone(left), i, i+1), next) {
			return true
		}
	}
	return false
}

// applyTo runs t's operations on the key.
func applyTo(key string, t *workload.Txn, at register) (register, bool) {
	for _, o := range t.Ops {
		if o.Key != key {
			continue
		}
		switch o.Kind {
		case event.Read:
			if o.Nothing() && t.Status == event.Unknown {
				continue
			}
			if o.Absent == at.there || at.there && o.Value != at.value {
				return at, false
			}
		case event.CAS:
			if holds(o.Expected, at) != o.Success || !o.Success && o.Seen.Known && !(o.Seen.Nothing && t.Status == event.Unknown) && !holds(o.Seen, at) {
				return at, false
			}
			if o.Success {
				at = register{true, o.Value}
			}
		default:
			at = register{true, o.Value}
		}
	}
	return at, true
}

// holds says whether the register is what a cas says.
func holds(v workload.Maybe, at register) bool {
	return v.Nothing && !at.there || !v.Nothing && at == register{true, v.Value}
}
