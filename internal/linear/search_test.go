package linear

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// fits says by trial of all orders whether ops are linearizable.
func fits(ops []Op, done []bool, state string) bool {
	closed := false
	for i := range ops {
		closed = closed || !done[i] && !ops[i].Open
	}
	if !closed {
		return true
	}
	for i := range ops {
		if done[i] {
			continue
		}
		early := true
		for j := range ops {
			early = early && (done[j] || j == i || ops[j].Open || ops[i].Call <= ops[j].Return)
		}
		next, ok := apply(state, &ops[i])
		if !early || !ok {
			continue
		}
		done[i] = true
		if fits(ops, done, next) {
			return true
		}
		done[i] = false
	}
	return false
}

// TestCheck compares with the trial of all orders.
func TestCheck(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	count := map[Verdict]int{}
	for i := range 20000 {
		var ops []Op
		for range 2 + r.IntN(5) {
			call := int64(r.IntN(20))
			op := Op{Call: call, Return: call + int64(r.IntN(8)), Open: r.IntN(6) == 0}
			value := strconv.Itoa(r.IntN(3))
			s := Step{Kind: Kind(r.IntN(3)), Value: value, Expected: strconv.Itoa(r.IntN(3))}
			s.Nothing = s.Kind == Read && r.IntN(4) == 0
			s.Success = s.Kind == CAS && r.IntN(2) == 0
			s.Guess = s.Kind == CAS && op.Open
			if s.Kind == CAS && !s.Success && !s.Guess && r.IntN(2) == 0 {
				s.HasSeen, s.Seen = true, strconv.Itoa(r.IntN(3))
			}
			if s.Kind == Read && op.Open {
				continue
			}
			op.Steps = append(op.Steps, s)
			ops = append(ops, op)
		}
		got := Check(ops, 1<<20).Verdict
		want := Fails
		if fits(ops, make([]bool, len(ops)), "") {
			want = Holds
		}
		if _, refuted := Refute(ops, 1<<20); refuted != (want == Fails) {
			t.Fatalf("history %d: refuted %v, want verdict %d: %+v", i, refuted, want, ops)
		}
		if got != want {
			t.Fatalf("history %d: %d, want %d: %+v", i, got, want, ops)
		}
		count[got]++
	}
	if count[Holds] < 2000 || count[Fails] < 2000 {
		t.Errorf("%v: too few of one to tell", count)
	}
}

// TestBudget: what is not decided within the budget is not known.
func TestBudget(t *testing.T) {
	var ops []Op
	for i := range 12 {
		ops = append(ops, Op{Call: 0, Return: 10, Steps: []Step{{Kind: Write, Value: strconv.Itoa(i)}}})
	}
	ops = append(ops, Op{Call: 0, Return: 10, Steps: []Step{{Kind: Read, Value: "none"}}})
	if v := Check(ops, 1000).Verdict; v != Unknown {
		t.Errorf("got %d after 1,000 steps", v)
	}
}

var etcd = regexp.MustCompile(`^INFO\s+jepsen\.util - (\d+)\s+:(invoke|ok|fail|info)\s+:(read|write|cas)\s+(.*)$`)

// readEtcd reads one of porcupine's logs of etcd.
func readEtcd(text string) []Op {
	var ops []Op
	open := map[string]int{}
	for at, line := range strings.Split(text, "\n") {
		m := etcd.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		value := strings.Trim(m[4], "[]")
		if m[2] == "invoke" {
			s := Step{Value: value}
			switch m[3] {
			case "write":
				s.Kind = Write
			case "cas":
				s.Kind, s.Guess = CAS, true
				s.Expected, s.Value, _ = strings.Cut(value, " ")
			}
			open[m[1]] = len(ops)
			ops = append(ops, Op{Call: int64(at), Open: true, Steps: []Step{s}})
			continue
		}
		op := &ops[open[m[1]]]
		s := &op.Steps[0]
		switch {
		case m[2] == "info":
		case m[2] == "fail" && s.Kind != CAS:
			op.Steps = nil // took no effect
		default:
			op.Return, op.Open = int64(at), false
			s.Guess, s.Success = false, m[2] == "ok"
			if s.Kind == Read {
				s.Value, s.Nothing = value, value == "nil"
			}
		}
	}
	kept := ops[:0]
	for _, op := range ops {
		if len(op.Steps) > 0 && !(op.Open && op.Steps[0].Kind == Read) {
			kept = append(kept, op)
		}
	}
	return kept
}

// TestEtcd decides porcupine's 102 logs of etcd.
func TestEtcd(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "histories", "porcupine")
	text, err := os.ReadFile(filepath.Join(dir, "EXPECTED-linearizable.tsv"))
	if err != nil {
		t.Skipf("needs the recorded histories, which stand beside the checkout in ../shared: %v", err)
	}
	right := 0
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		name, want, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(name, "etcd_") {
			continue
		}
		log, err := os.ReadFile(filepath.Join(dir, "jepsen", name))
		if err != nil {
			t.Fatal(err)
		}
		ops := readEtcd(string(log))
		v := Check(ops, 5_000_000).Verdict
		if v == Holds != (want == "true") || v == Unknown {
			t.Errorf("%s, %d operations: verdict %d, want linearizable: %s", name, len(ops), v, want)
			continue
		}
		if _, refuted := Refute(ops, 5_000_000); refuted != (v == Fails) {
			t.Errorf("%s: refuted %v by the other way", name, refuted)
			continue
		}
		right++
	}
	t.Logf("%d right", right)
	if right < 102 {
		t.Errorf("%d of 102 are right", right)
	}
}
