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
	outbox.add(skew(), second)
	var jsonl, text bytes.Buffer
	if err := NewJSONL(&jsonl).Deliver(t.Context(), outbox.all); err != nil {
		t.Fatal(err)
	}
	if want := string(outbox.all[0].JSON) + "\n" + string(outbox.all[1].JSON) + "\n"; jsonl.String() != want {
		t.Errorf("JSONL wrote\n%swant\n%s", &jsonl, want)
	}
	if err := NewText(&text, false).Deliver(t.Context(), outbox.all); err != nil {
		t.Fatal(err)
	}
	if strings.Count(text.String(), "VIOLATED") != 2 || !strings.Contains(text.String(), "finding 8b00\n") {
		t.Errorf("text: %s", &text)
	}
	for _, sink := range []Sink{NewJSONL(failingWriter{}), NewText(failingWriter{}, false)} {
		if err := sink.Deliver(t.Context(), outbox.all); !errors.Is(err, errDown) {
			t.Errorf("%s: Deliver = %v, want the writer's error", sink.Name(), err)
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errDown }

func TestLog(t *testing.T) {
	outbox := &memory{}
	allowed := skew()
	allowed.Expected = true
	outbox.add(skew(), allowed)
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
	want := `level=WARN msg=finding verdict=violated anomaly=G2-item title="write skew" headline="" meaning="" causes=[] next=[] source=orders id=7f3a revision=0 state=provisional refutes=[serializable] summary="Refutes serializable, and with it 2 stronger levels." txns="[T1 T2]" cycle="T1 -rw x-> T2 -rw y-> T1"
level=INFO msg=finding verdict=allowed anomaly=G2-item title="write skew" headline="" meaning="" causes=[] next=[] source=orders id=7f3a revision=0 state=provisional refutes=[serializable] summary="Allowed by the expected level. Refutes serializable, and with it 2 stronger levels." txns="[T1 T2]" cycle="T1 -rw x-> T2 -rw y-> T1"
`
	if b.String() != want {
		t.Errorf("logged\n%swant\n%s", &b, want)
	}
}
