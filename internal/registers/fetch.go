package registers

import "github.com/isowatch/isowatch/event"

// The tables of a large history are larger than the caches. A look into one waits for memory, and the next look
// only begins when it has come. So add has them looked into for some transactions ahead, in loops whose looks do
// not depend on each other. The processor waits for many of them at a time, and add finds them in the
// caches.

// atATime is how many transactions are looked up ahead.
const atATime = 64

// fetching is memory for that.
type fetching struct {
	versions []event.Hash
	seen     uint64 // of all that was looked at: looks without a result would be left out
}

// fetch looks at what add will need of these transactions.
func (h *History) fetch(b *event.Batch, txns []event.Txn) {
	f := &h.fetching
	if len(h.values.slots) < fewSlots {
		return
	}
	seen := uint64(0)
	for i := range txns {
		seen += h.ids.slot(txns[i].IDHash)
	}
	f.versions = f.versions[:0]
	for i := range txns {
		ops := b.OpsOf(&txns[i])
		for j := range ops {
			if key, known := h.keys.known(ops[j].KeyHash); known {
				f.versions = append(f.versions, versionHash(key, ops[j].ValueHash))
			}
		}
	}
	for _, x := range f.versions {
		seen += h.values.slot(x)
	}
	for _, x := range f.versions {
		if slot := h.values.slot(x); slot != 0 && slot&upper == x.Lo&upper {
			v := uint32(slot) - 1
			seen += h.values.all[v].Lo + uint64(h.writers[v]) + uint64(h.places[v])
		}
	}
	f.seen = seen
}

// fewSlots are in the caches anyway.
const fewSlots = 1 << 14
