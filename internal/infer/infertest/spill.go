package infertest

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// spill puts out all that is cold.
func (r *room) spill() {
	defer r.s.EndStep()
	r.s.EachDead(func(ref ledger.Ref, _ int) { delete(r.disk, ref) })
	put := func(ref ledger.Ref, record []byte) {
		if record == nil {
			delete(r.disk, ref)
		} else {
			r.disk[ref] = record
		}
	}
	for n := r.s.ColdTxn(nil); n != 0; n = r.s.ColdTxn(nil) {
		put(r.s.SpillTxn([]byte{}, n))
	}
	for visits := 3 * r.s.KeySlots(); ; {
		keys := r.s.ColdKeys(&visits, nil)
		if len(keys) == 0 {
			break
		}
		for _, k := range keys {
			put(r.s.SpillKey([]byte{}, k))
		}
	}
	for visits := 3 * r.s.SessionSlots(); ; {
		id := r.s.ColdSession(&visits)
		if id == 0 {
			break
		}
		put(r.s.SpillSession([]byte{}, id))
	}
}

// bring takes back what is needed, and what that names, transactions first.
func (r *room) bring(needs func(func(ledger.Ref))) error {
	if !r.s.Spilled() {
		return nil
	}
	asked := map[ledger.Ref]bool{}
	var list []ledger.Ref
	need := func(ref ledger.Ref) {
		if !asked[ref] && r.disk[ref] != nil {
			asked[ref] = true
			list = append(list, ref)
		}
	}
	needs(need)
	for i := 0; i < len(list); i++ {
		ref, err := list[i], error(nil)
		if ref.Kind == infer.TxnRecord {
			err = r.s.KeysOfRecord(r.disk[ref], func(h event.Hash) { r.s.NeedKey(h, need) })
		} else {
			err = infer.MembersOfRecord(ref.Kind, r.disk[ref], func(h event.Hash) { r.s.NeedTxn(h, need) })
		}
		if err != nil {
			return err
		}
	}
	for _, kind := range []ledger.RecordKind{infer.TxnRecord, infer.SessionRecord, infer.KeyRecord} {
		for _, ref := range list {
			if ref.Kind != kind {
				continue
			}
			if err := r.bringOne(ref); err != nil {
				return fmt.Errorf("bring back %v: %w", ref, err)
			}
		}
	}
	return nil
}

func (r *room) bringOne(ref ledger.Ref) (err error) {
	record := r.disk[ref]
	switch ref.Kind {
	case infer.TxnRecord:
		_, err = r.s.BringTxn(ref.Hash, record) // its record stays until it is dead
		return err
	case infer.SessionRecord:
		err = r.s.BringSession(ref.Hash, record)
	case infer.KeyRecord:
		var rest []byte
		if _, rest, err = r.s.BringKey(ref.Hash, record); err == nil && len(rest) > 0 {
			err = fmt.Errorf("%d bytes are left", len(rest))
		}
	}
	delete(r.disk, ref)
	return err
}

// bringAll takes back everything: what is asked is about memory.
func (r *room) bringAll() error {
	return r.bring(func(need func(ledger.Ref)) {
		for ref := range r.disk {
			switch ref.Kind {
			case infer.TxnRecord:
				r.s.NeedTxn(ref.Hash, need)
			case infer.KeyRecord:
				r.s.NeedKey(ref.Hash, need)
			default:
				if r.s.LookupSession(ref.Hash) == 0 {
					need(ref)
				}
			}
		}
	})
}
