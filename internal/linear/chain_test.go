package linear

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

// randomChain is a register that clients replace with cas, with values of their own,
// and read: linearizable at the instants at which its operations take effect. Some
// clients never hear; some intervals are moved, some values are exchanged.
func randomChain(r *rand.Rand) []Op {
	var ops []Op
	state, at := "", int64(0)
	for i := range 2 + r.IntN(6) {
		at += 1 + int64(r.IntN(3))
		op := Op{Call: at - int64(r.IntN(6)), Return: at + int64(r.IntN(6)), Open: r.IntN(8) == 0}
		expected := state
		if state == "" {
			expected = "null"
		}
		s := Step{Kind: CAS, Expected: expected, Value: strconv.Itoa(i + 1), Success: !op.Open, Guess: op.Open}
		switch {
		case i == 0 && r.IntN(2) == 0:
			s = Step{Kind: Write, Value: s.Value}
		case r.IntN(3) == 0 && !op.Open:
			s = Step{Kind: Read, Value: state, Nothing: state == ""}
		case r.IntN(10) == 0 && !op.Open:
			s = Step{Kind: CAS, Expected: "other", Value: s.Value, HasSeen: true, Seen: expected}
		case op.Open && r.IntN(2) == 0: // it never took effect
		default:
			state = s.Value
		}
		if s.Kind == Write {
			state = s.Value
		}
		if r.IntN(12) == 0 {
			op.Call, op.Return = op.Call-10, op.Return-10
		}
		if r.IntN(25) == 0 {
			s.Expected, s.Value = strconv.Itoa(r.IntN(5)), strconv.Itoa(r.IntN(5))
		}
		op.Steps = append(op.Steps, s)
		ops = append(ops, op)
	}
	r.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	return ops
}

// TestChain compares with the trial of all orders.
func TestChain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	count := map[Verdict]int{}
	for i := range 30000 {
		ops := randomChain(r)
		got := Chain(ops)
		count[got]++
		want := Fails
		if fits(ops, make([]bool, len(ops)), "") {
			want = Holds
		}
		if got != Unknown && got != want {
			t.Fatalf("history %d: %d, want %d: %+v", i, got, want, ops)
		}
	}
	t.Logf("unknown, hold, fail: %d, %d, %d", count[Unknown], count[Holds], count[Fails])
	if count[Holds] < 5000 || count[Fails] < 5000 || count[Unknown] > 6000 {
		t.Errorf("%v: too few that are decided", count)
	}
}

// TestChainIsLinear: a register that was replaced 100,000 times is decided, which no
// search within its budget could.
func TestChainIsLinear(t *testing.T) {
	var ops []Op
	before := "null"
	for i := range 100_000 {
		v := strconv.Itoa(i)
		ops = append(ops, Op{Call: int64(10 * i), Return: int64(10*i + 25), Steps: []Step{{Kind: CAS, Expected: before, Value: v, Success: true}}})
		before = v
	}
	if v := Chain(ops); v != Holds {
		t.Errorf("got %d", v)
	}
	ops[70_000].Call += 100
	if v := Chain(ops); v != Fails {
		t.Errorf("with one that begins after the next ones have ended: %d", v)
	}
}

// ExampleChain is figure 4 of MTC: (a) is linearizable, (b) is not, since the first
// operation begins when the second has ended.
func ExampleChain() {
	rw := func(call, ret int64, expected, value string) Op {
		return Op{Call: call, Return: ret, Steps: []Step{{Kind: CAS, Expected: expected, Value: value, Success: true}}}
	}
	fmt.Println(Chain([]Op{rw(0, 3, "null", "1"), rw(2, 5, "1", "2"), rw(4, 7, "2", "3")}) == Holds)
	fmt.Println(Chain([]Op{rw(6, 9, "null", "1"), rw(2, 5, "1", "2"), rw(4, 7, "2", "3")}) == Fails)
	// Output:
	// true
	// true
}
