package window

// dueTxn waits for the watermark.
type dueTxn struct {
	end int64
	n   uint32
	gen uint32
}

// takenTxn is a transaction that was or is to be taken in.
type takenTxn struct {
	gen   uint32 // 0: it was not, or was let go of
	drops uint32 // saturated.drops then, when it arrived if it was not, or when it was let go of
}

// wait queues the transactions that count from now on.
func (f *saturated) wait(n, gen uint32, end int64) {
	h := append(f.due, dueTxn{end, n, gen})
	for i := len(h) - 1; i > 0 && h[i].before(&h[(i-1)/2]); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
	f.due = h
}

func (d *dueTxn) before(e *dueTxn) bool { return d.end < e.end || d.end == e.end && d.gen < e.gen }

func (f *saturated) pop() dueTxn {
	h := f.due
	top, k := h[0], len(h)-1
	h[0] = h[k]
	h = h[:k]
	for i := 0; ; {
		c := 2*i + 1
		if c >= k {
			break
		}
		if c+1 < k && h[c+1].before(&h[c]) {
			c++
		}
		if !h[c].before(&h[i]) {
			break
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
	f.due = h
	return top
}

func (f *saturated) isTaken(n, gen uint32) bool {
	return int(n) < len(f.taken) && f.taken[n].gen == gen && gen != 0
}
