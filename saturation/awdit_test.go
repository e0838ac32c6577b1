package saturation

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// awdit reads the form of AWDIT's tests: operations in lines, a line of - behind a
// transaction, a line of = behind a session. No value is there at the start.
func awdit(text string) (h *History, ok bool) {
	type version struct{ key, value uint32 }
	type op struct {
		write bool
		version
	}
	type txn struct {
		session uint32
		ops     []op
	}
	txns := []txn{{session: 1}}
	for _, line := range strings.Split(text, "\n") {
		at := &txns[len(txns)-1]
		switch {
		case strings.HasPrefix(line, "-"):
			txns = append(txns, txn{session: at.session})
		case strings.HasPrefix(line, "="):
			txns = append(txns, txn{session: at.session + 1})
		case line != "":
			var kind string
			var o op
			if _, err := fmt.Sscanf(line, "%s %d %d", &kind, &o.key, &o.value); err != nil {
				return nil, false
			}
			o.write = kind == "w"
			at.ops = append(at.ops, o)
		}
	}
	writers := map[version]uint32{}
	for i, x := range txns {
		last := map[uint32]uint32{}
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
		own := map[uint32]uint32{}
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
			w, known := writers[o.version]
			ok = ok && known && w != uint32(i+1)
			h.Reads = append(h.Reads, Read{Key: o.key, Writer: w, First: uint32(at), Last: uint32(at)})
		}
	}
	return h, ok
}

// TestAWDIT decides AWDIT's own tests. Their folder is the strongest level that
// holds.
func TestAWDIT(t *testing.T) {
	dir := recorded(t, "awdit")
	holds := map[string]int{"none": 0, "read-committed": 1, "read-atomic": 2, "causal": 3}
	seen := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		seen++
		want := holds[strings.Split(filepath.ToSlash(inside), "/")[0]]
		h, ok := awdit(string(text))
		v := h.Decide(Causal)
		got := 0
		for i, rule := range []Rule{AtomicView, Atomic, Causal} {
			if ok && v.Session[rule] {
				got = i + 1
			}
		}
		if got != want {
			t.Errorf("%s: levels up to the %d-th hold, want the %d-th (all reads of committed values: %v)", inside, got, want, ok)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d histories", seen)
	if seen < 20 {
		t.Errorf("%d histories were there: 22 are public", seen)
	}
}
