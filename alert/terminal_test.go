package alert

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestWriters(t *testing.T) {
	outbox := &memory{}
	second := skew()
	second.ID = "8b00"
	second.Next = []string{"Lock."}
	third := second
	third.ID = "8b01"
	outbox.add(skew(), second, third)
	var jsonl, text bytes.Buffer
	if err := NewJSONL(&jsonl).Deliver(t.Context(), outbox.all); err != nil {
		t.Fatal(err)
	}
	if want := string(outbox.all[0].JSON) + "\n" + string(outbox.all[1].JSON) + "\n" + string(outbox.all[2].JSON) + "\n"; jsonl.String() != want {
		t.Errorf("JSONL wrote\n%swant\n%s", &jsonl, want)
	}
	if err := NewText(&text, false).Deliver(t.Context(), outbox.all); err != nil {
		t.Fatal(err)
	}
	if strings.Count(text.String(), "VIOLATED") != 3 || strings.Count(text.String(), "    1. Lock.") != 1 || !strings.Contains(text.String(), "    1. The same as for finding 8b00.") || !strings.Contains(text.String(), "finding 8b00\n") {
		t.Errorf("text: %s", &text)
	}
	for _, sink := range []Sink{NewJSONL(failingWriter{}), NewText(failingWriter{}, false)} {
		if err := sink.Deliver(t.Context(), outbox.all); !errors.Is(err, errDown) {
			t.Errorf("%s: Deliver = %v, want the writer's error", sink.Name(), err)
		}
	}
}

// What the expected level allows takes one line, with a link, and leaves the advice to those that it forbids.
func TestAllowedOnOneLine(t *testing.T) {
	outbox := &memory{}
	allowed, linked, told := skew(), skew(), skew()
	allowed.Expected, allowed.ID = true, "8b01"
	linked.Expected, linked.PageURL = true, "https://watch.example/findings/8b02"
	told.Next = []string{"Lock."}
	allowed.Next, linked.Next = told.Next, told.Next
	outbox.add(allowed, linked, told)
	var text bytes.Buffer
	if err := NewText(&text, false).Deliver(t.Context(), outbox.all); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	for i, want := range []string{"ALLOWED  write skew (G2-item)  orders  ", "ALLOWED  write skew (G2-item)  orders  ", "VIOLATED  write skew (G2-item)  orders  "} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want %s", i, lines[i], want)
		}
	}
	if !strings.HasSuffix(lines[0], "  finding 8b01") || !strings.HasSuffix(lines[1], "  https://watch.example/findings/8b02") || !strings.Contains(text.String(), "    1. Lock.") {
		t.Errorf("%s", &text)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errDown }

func TestLog(t *testing.T) {
	outbox := &memory{}
	told := skew()
	told.Headline, told.Meaning = "T1 and T2 each changed what the other one had read: x, y.", "A rule may be broken."
	told.Causes, told.Next = []string{"Snapshot isolation."}, []string{"Lock.", "Ask."}
	allowed := told
	allowed.Expected = true
	outbox.add(told, allowed)
	var b bytes.Buffer
	plain := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	if err := NewLog(plain).Deliver(t.Context(), outbox.all); err != nil {
		t.Fatal(err)
	}
	const texts = ` anomaly=G2-item title="write skew" headline="T1 and T2 each changed what the other one had read: x, y." meaning="A rule may be broken." causes="[Snapshot isolation.]" next="[Lock. Ask.]" source=orders id=7f3a revision=0 state=provisional refutes=[serializable] `
	const proof = ` txns="[T1 T2]" cycle="T1 -rw x-> T2 -rw y-> T1" proof="Let:\n  T1 = session a #1: r x 1, w y 2\n  T2 = session b #1: r y 1, w x 2\n\nThen:\n  - T1 < T2, because T1 read x = 1, which T2 overwrote with 2.\n  - However, T2 < T1, because T2 read y = 1, which T1 overwrote with 2: a contradiction!"` + "\n"
	want := `level=WARN msg=finding verdict=violated` + texts + `summary="Refutes serializable, and with it 2 stronger levels."` + proof +
		`level=INFO msg=finding verdict=allowed` + texts + `summary="Allowed by the expected level. Refutes serializable, and with it 2 stronger levels."` + proof
	if b.String() != want {
		t.Errorf("logged\n%swant\n%s", &b, want)
	}
}
