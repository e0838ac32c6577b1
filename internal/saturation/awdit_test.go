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
	txns := []plainTxn{{session: 1}}
	for _, line := range strings.Split(text, "\n") {
		at := &txns[len(txns)-1]
		switch {
		case strings.HasPrefix(line, "-"):
			txns = append(txns, plainTxn{session: at.session})
		case strings.HasPrefix(line, "="):
			txns = append(txns, plainTxn{session: at.session + 1})
		case line != "":
			var kind string
			var o plainOp
			if _, err := fmt.Sscanf(line, "%s %d %d", &kind, &o.key, &o.value); err != nil {
				return nil, false
			}
			o.write = kind == "w"
			at.ops = append(at.ops, o)
		}
	}
	return historyOf(txns, false)
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
