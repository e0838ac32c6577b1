package words

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

func TestText(t *testing.T) {
	f := skew()
	want := `VIOLATED  write skew (G2-item)  orders  finding 7f3a
  Refutes serializable, and with it 2 stronger levels.
  T1 -rw x-> T2 -rw y-> T1
  Let:
    T1 = session a #1: r x 1, w y 2
    T2 = session b #1: r y 1, w x 2
  Then:
    - T1 < T2, because T1 read x = 1, which T2 overwrote with 2.
    - However, T2 < T1, because T2 read y = 1, which T1 overwrote with 2: a contradiction!
  From nats:ISOWATCH/7 to nats:ISOWATCH/9

`
	if got := string(Append(nil, &f, false)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	f.Revision, f.Epoch, f.AtLeast, f.Title, f.Command = 1, "e2", true, "G2-item", "monitor replay --from 1"
	f.Explanation, f.FirstPosition, f.AlsoRefutes = "one line", "", nil
	f.During = []finding.Mark{
		{Name: "fault", Text: "exit status 1", Start: "2026-11-20T19:00:00Z", End: "2026-11-20T19:00:05Z"},
		{Name: "fault", Start: "2026-11-20T19:00:30Z"},
	}
	want = `VIOLATED  G2-item  orders/e2  finding 7f3a revision 1
  Refutes serializable.
  At least: the search for a worse anomaly stopped at its limit.
  T1 -rw x-> T2 -rw y-> T1
  one line
  During fault, 2026-11-20T19:00:00Z to 2026-11-20T19:00:05Z: exit status 1
  During fault, 2026-11-20T19:00:30Z, which had not ended
  Replay: monitor replay --from 1

`
	if got := string(Append([]byte("before\n"), &f, false)); got != "before\n"+want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestColourAddsNothingButColour(t *testing.T) {
	f := skew()
	plain, painted := string(Append(nil, &f, false)), string(Append(nil, &f, true))
	stripped := painted
	for _, code := range []string{"\x1b[1;31m", "\x1b[1m", "\x1b[0m"} {
		stripped = strings.ReplaceAll(stripped, code, "")
	}
	if stripped != plain || painted == plain {
		t.Errorf("painted %q", painted)
	}
}

func TestTextCannotSteerTheTerminal(t *testing.T) {
	f := skew()
	attack := "\x1b]0;title\x07 \x9b31m \u202e \u2028 \xff\r"
	f.ID, f.Source, f.Epoch, f.Title, f.Anomaly, f.Command, f.FirstPosition = attack, attack, attack, attack, attack, attack, attack
	f.Explanation, f.Refutes, f.Txns = attack, []string{attack}, []string{attack}
	f.During = []finding.Mark{{Name: attack, Text: attack, Start: attack, End: attack}}
	f.Edges[0].From, f.Edges[0].Key, f.Edges[0].Type = attack, attack, attack
	for _, kind := range []finding.Kind{finding.KindViolation, finding.KindHorizon, finding.KindGap} {
		f.Kind = kind
		got := string(Append(nil, &f, false))
		if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && hidden(r) }); i >= 0 {
			t.Errorf("%s: byte %d of the text is %q", kind, i, got[i:min(i+4, len(got))])
		}
	}
	for in, want := range map[string]string{
		"plain":    "plain",
		"Zürich ⇒": "Zürich ⇒",
		"\x1b[m":   `\x1b[m`,
		"a\nb\tc":  `a\x0ab\x09c`,
		"\u202ex":  `\u202ex`,
		"\u0085":   `\x85`,
		"\xffx":    `\xffx`,
		"\ufffd":   "\ufffd",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*finding.Finding)
		want   Verdict
		says   string
	}{
		{"as found", func(*finding.Finding) {}, Violated, "Refutes serializable"},
		{"expected", func(f *finding.Finding) { f.Expected = true }, Allowed, "Allowed by the expected level. Refutes"},
		{"uncertain", func(f *finding.Finding) { f.Certain = false }, Uncertain, "without a record"},
		{"expected and uncertain", func(f *finding.Finding) { f.Expected, f.Certain = true, false }, Allowed, "Allowed"},
		{"waiting", func(f *finding.Finding) { f.State = finding.Waiting }, Waiting, "still on its way"},
		{"waiting and expected", func(f *finding.Finding) { f.State, f.Expected = finding.Waiting, true }, Waiting, "still on its way"},
		{"withdrawn", func(f *finding.Finding) { f.State = finding.Withdrawn }, Cleared, "Withdrawn"},
		{"withdrawn by a repetition", func(f *finding.Finding) { f.State, f.WithdrawnBy = finding.Withdrawn, finding.Repetition }, Cleared, "a second time"},
		{"withdrawn by an outcome", func(f *finding.Finding) { f.State, f.WithdrawnBy = finding.Withdrawn, finding.LateOutcome }, Cleared, "came late"},
		{"withdrawn by a record", func(f *finding.Finding) { f.State, f.WithdrawnBy = finding.Withdrawn, finding.LateRecord }, Cleared, "after the lateness"},
		{"horizon", func(f *finding.Finding) { f.Kind = finding.KindHorizon }, Undecided, "replay decides"},
		{"horizon, replayed well", func(f *finding.Finding) { f.Kind, f.State = finding.KindHorizon, finding.ResolvedOK }, Cleared, "replay found no"},
		{"horizon, replayed badly", func(f *finding.Finding) { f.Kind, f.State = finding.KindHorizon, finding.ResolvedViolated }, Violated, "replay confirmed"},
		{"gap", func(f *finding.Finding) { f.Kind = finding.KindGap }, Lost, "lost"},
		{"gap, over", func(f *finding.Finding) { f.Kind, f.State = finding.KindGap, finding.ResolvedOK }, Cleared, "no record was missing"},
		{"contradictory records, over", func(f *finding.Finding) { f.Kind, f.State = finding.KindRecord, finding.ResolvedOK }, Cleared, "no record has contradicted"},
		{"record", func(f *finding.Finding) { f.Kind = finding.KindRecord }, Malformed, "capture"},
		{"weaker", func(f *finding.Finding) { f.Kind, f.Anomaly = finding.KindRecord, finding.WeakerThanExpected }, Weaker, "ask for a weaker level"},
		{"weaker, over", func(f *finding.Finding) {
			f.Kind, f.Anomaly, f.State = finding.KindRecord, finding.WeakerThanExpected, finding.ResolvedOK
		}, Cleared, "for an hour"},
	} {
		f := skew()
		c.change(&f)
		if got, sentence := VerdictOf(&f); got != c.want || !strings.Contains(sentence, c.says) {
			t.Errorf("%s: %s, %q, want %s, %q", c.name, got, sentence, c.want, c.says)
		}
	}
}

func TestCycle(t *testing.T) {
	f := skew()
	for _, c := range []struct {
		edges []finding.Edge
		want  string
	}{
		{nil, ""},
		{f.Edges, "T1 -rw x-> T2 -rw y-> T1"},
		{[]finding.Edge{{From: "A", To: "B", Type: "process"}}, "A -process-> B"},
		{[]finding.Edge{{From: "A", To: "B", Type: "ww", Key: "k"}, {From: "C", To: "A", Type: "wr", Key: "k"}}, "A -ww k-> B; C -wr k-> A"},
	} {
		if got := Cycle(&finding.Finding{Edges: c.edges}); got != c.want {
			t.Errorf("Cycle = %q, want %q", got, c.want)
		}
	}
}

func TestShortName(t *testing.T) {
	long := "6f1c2a9e-77aa-4c0e-9d1e-000000000001"
	f := finding.Finding{
		Txns:  []string{"short", long},
		Edges: []finding.Edge{{From: "short", To: long, Type: "wr", Key: "k"}, {From: long, To: "short", Type: "rw", Key: "k"}},
	}
	if got, want := Cycle(&f), "T1 -wr k-> T2 -rw k-> T1"; got != want {
		t.Errorf("Cycle = %q, want %q", got, want)
	}
	if got := ShortName(&f, "stranger"); got != "stranger" {
		t.Errorf("a transaction that is no member is called %q", got)
	}
}

func hidden(r rune) bool { return finding.Visible(string(r)) != string(r) }

// The key of an edge is quoted as that of an operation.
func TestEdgeLabelQuotes(t *testing.T) {
	for key, want := range map[string]string{"x": "rw x", "x, w y": `rw "x, w y"`, "a b": `rw "a b"`, "": "rw"} {
		if got := EdgeLabel(finding.Edge{Type: "rw", Key: key}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
