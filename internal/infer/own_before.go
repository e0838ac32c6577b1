package infer

// checkOwnBefore reports a read that shows v, and right before it not what v's writer had appended
// before, in the same transaction. If that is not known any more, v is behind the horizon. An element of
// another one between them is a cycle of writes. O(1), or O(writes of that transaction) where one is missing.
func (s *registers) checkOwnBefore(v uint32) {
	x := &s.versions[v]
	w, p := x.writer, x.prev
	if x.flags&behindOwn == 0 || s.keys[x.key].flags&(unsupported|deleted) != 0 || p != 0 && (s.versions[p].writer == w || s.writeOf(w, p) != 0) {
		return
	}
	if s.mayReturn(v) || s.opt.causal() && s.beganBehind(w, x.witness) {
		s.Counters.Ambiguous++ // it may be of another attempt
		return
	}
	id, last := s.writeOf(w, v), uint32(0)
	for other := s.txns[w].writes; other != 0 && id != 0; other = s.writes[other].nextOfTxn {
		y := &s.writes[other]
		if s.versions[y.version].key == x.key && y.op < s.writes[id].op && (last == 0 || y.op > s.writes[last].op) {
			last = other
		}
	}
	switch {
	case last == 0 && s.txns[w].flags&retired != 0:
		s.anomaly(Anomaly{Kind: RetiredRead, A: x.witness, Version: v})
	case last != 0 && s.versions[s.writes[last].version].flags&(placed|ambiguous) == 0:
		s.anomaly(Anomaly{Kind: IncompatibleOrder, A: x.witness, B: w, Version: v, Other: s.writes[last].version, Certain: true})
	}
}
