package saturation

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded is where the recorded histories are.
func recorded(t testing.TB, folder string) string {
	dir := filepath.Join("..", "..", "shared", "histories", folder)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the recorded histories are not here: %v", err)
	}
	return dir
}

// bincode reads dbcop's form. ok is false when a read shows what no transaction
// that committed left there.
func bincode(b []byte) (h *History, ok bool) {
	u64 := func() uint64 {
		v := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return v
	}
	flag := func() bool {
		v := b[0]
		b = b[1:]
		return v != 0
	}
	for range 5 {
		u64()
	}
	for range 3 {
		b = b[u64():]
	}
	type op struct {
		write      bool
		key, value uint64
	}
	type txn struct {
		session uint32
		ops     []op
	}
	var txns []txn
	for s := range u64() {
		for range u64() {
			x := txn{session: uint32(s) + 1}
			for range u64() {
				o := op{write: flag(), key: u64(), value: u64()}
				if flag() {
					x.ops = append(x.ops, o)
				}
			}
			if flag() {
				txns = append(txns, x)
			}
		}
	}
	type version struct{ key, value uint64 }
	writers := map[version]uint32{}
	for i, x := range txns {
		last := map[uint64]uint64{}
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
		own := map[uint64]uint64{}
		for at, o := range x.ops {
			if o.write {
				if _, again := own[o.key]; !again {
					h.Writes = append(h.Writes, uint32(o.key))
				}
				own[o.key] = o.value
				continue
			}
			if v, mine := own[o.key]; mine {
				ok = ok && v == o.value
				continue
			}
			w, known := writers[version{o.key, o.value}]
			ok = ok && (known && w != uint32(i+1) || o.value == 0)
			h.Reads = append(h.Reads, Read{Key: uint32(o.key), Writer: w, First: uint32(at), Last: uint32(at)})
		}
	}
	return h, ok
}

// TestRecorded decides the 400 histories of CockroachDB and Galera.
func TestRecorded(t *testing.T) {
	dir := recorded(t, "dbcop")
	text, err := os.ReadFile(filepath.Join(dir, "verdicts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		cols := strings.Split(line, "\t")
		b, err := os.ReadFile(filepath.Join(dir, cols[0]))
		if err != nil {
			t.Fatal(err)
		}
		h, ok := bincode(b)
		v := h.Decide(Causal)
		for i, rule := range []Rule{AtomicView, Atomic, Causal} {
			got := "violated"
			if ok && v.Session[rule] {
				got = "ok"
			}
			if want := cols[5+i]; got != want {
				t.Errorf("%s, rule %d: %s, want %s (all reads of committed values: %v)", cols[0], rule, got, want, ok)
			} else {
				right++
			}
		}
	}
	t.Logf("%d verdicts right", right)
}
