package history

import (
	"strings"
	"testing"
)

// skims reads the values of an invocation and its completion, once with the first left for later and read
// then, and once with both read at once.
func skims(t *testing.T, text string) (later bool) {
	t.Helper()
	text = "{:type :invoke :value " + text + " :f :txn}"
	lazy, eager := nodeReader{data: []byte(text), lazy: true, flat: true}, nodeReader{data: []byte(text), flat: true}
	a, err := lazy.read()
	b, other := eager.read()
	if (err == nil) != (other == nil) {
		t.Fatalf("%s: %v, and at once %v", text, err, other)
	}
	if err != nil {
		return false
	}
	value := a.get("value")
	whole, err := lazy.whole(value)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	at := b.get("value")
	if got, want := string(whole.appendJSON(nil)), string(at.appendJSON(nil)); got != want || lazy.i != eager.i || len(a.items) != len(b.items) {
		t.Errorf("%s: %s, and at once %s", text, got, want)
	}
	return value.later
}

// A value that is left for later is what it is at once, and nothing that is wrong is left.
func TestSkim(t *testing.T) {
	later := 0
	for _, text := range []string{
		"[[:append 5 1] [:r 5 nil]]", "[]", "[[:r, 1, nil]]", "[[:r -1 [1 2 3 4 5]]]", // these are left
		"[[:r 1 nil]", "[[: 1 nil]]", "[[:r 1 nil])", `[[:r "x" nil]]`, "[[:r 1 nil]\n]", "[#_ 1]", "[[:r 1 nil] ; x\n]", "nil", "[[[[[[[[[1]]]]]]]]]", "[:", "[:]",
	} {
		if skims(t, text) {
			later++
		}
	}
	if later != 4 {
		t.Errorf("%d values are left for later, want 4", later)
	}
}

// FuzzSkim: so with any text.
func FuzzSkim(f *testing.F) {
	f.Add("[[:append 5 1] [:r 5 nil]]")
	f.Add("[[:r 5 [1 2 3 4]] [:r- :a:b]]")
	f.Fuzz(func(t *testing.T, text string) { skims(t, text) })
}

// What became of an operation decides whether its invocation is read: here one succeeds, which says that a
// history of transactions it is. Others fail, stay unknown, have no value, or never complete.
func TestInvocations(t *testing.T) {
	const text = `{:type :invoke, :process 0, :value [[:append 1 1]]}
{:type :ok, :process 0, :value [[:append 1 1]]}
{:type :invoke, :process 0, :value [[:append 1 2]]}
{:type :fail, :process 0, :value [[:append 1 2]]}
{:type :invoke, :process 0, :value [[:append 1 3]]}
{:type :info, :process 0, :value :timeout}
{:type :invoke, :process 1, :value [[:append 1 4]]}
{:type :info, :process 1, :value nil}
{:type :invoke, :process 2, :value [[:append 1 5]]}
{:type :invoke, :process 2, :value [[:append 1 6]]}
{:type :ok, :process 2}
{:type :invoke, :process 3, :value [[:append 1 7]]}`
	out, err := told(t, EDN, text)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"T0 committed", "T2 aborted", "T4 unknown", "T6 unknown", "T8 unknown", "T9 committed", "T11 unknown"} {
		line := strings.Split(out, "\n")[i]
		if value := "append(1 " + string(rune('1'+i)) + ")"; !strings.HasPrefix(line, want) || !strings.Contains(line, value) {
			t.Errorf("%s, want %s with %s", line, want, value)
		}
	}
}
