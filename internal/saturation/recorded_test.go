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
		t.Skipf("needs the recorded histories, which stand beside the checkout in ../shared: %v", err)
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
	var txns []plainTxn
	for s := range u64() {
		for range u64() {
			x := plainTxn{session: uint32(s) + 1}
			for range u64() {
				o := plainOp{write: flag(), key: uint32(u64()), value: u64()}
				if flag() {
					x.ops = append(x.ops, o)
				}
			}
			if flag() {
				txns = append(txns, x)
			}
		}
	}
	return historyOf(txns, true)
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
