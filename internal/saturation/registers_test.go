package saturation

// plainTxn is a transaction of a recorded history, plainOp one of its operations.
type plainTxn struct {
	session uint32
	ops     []plainOp
}

type plainOp struct {
	write bool
	key   uint32
	value uint64
}

// historyOf takes values as names of their writers, and 0 as what was there at the
// start if initial is set. ok is false when a read shows what no other transaction
// left there, or not what its own wrote.
func historyOf(txns []plainTxn, initial bool) (h *History, ok bool) {
	type version struct {
		key   uint32
		value uint64
	}
	writers := map[version]uint32{}
	for i, x := range txns {
		last := map[uint32]uint64{}
		for _, o := range x.ops {
			if o.write {
				last[o.key] = o.value
			}
		}
		for k, v := range last {
			writers[version{k, v}] = uint32(i + 1)
		}
	}
	h, ok = &History{Txns: make([]HistoryTxn, 1)}, true
	for i, x := range txns {
		h.Txns = append(h.Txns, HistoryTxn{Session: x.session, Reads: uint32(len(h.Reads)), Writes: uint32(len(h.Writes))})
		own := map[uint32]uint64{}
		for at, o := range x.ops {
			if o.write {
				if _, again := own[o.key]; !again {
					h.Writes = append(h.Writes, o.key)
				}
				own[o.key] = o.value
				continue
			}
			if v, mine := own[o.key]; mine {
				ok = ok && v == o.value
				continue
			}
			w, known := writers[version{o.key, o.value}]
			ok = ok && (known && w != uint32(i+1) || initial && o.value == 0)
			h.Reads = append(h.Reads, Read{Key: o.key, Writer: w, First: uint32(at), Last: uint32(at)})
		}
	}
	return h, ok
}
