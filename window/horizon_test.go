package window

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
)

// The range of a horizon finding reaches to how far events had come, also where
// the late record's own partition has not: nobody waits for one that is left.
func TestReplayRangeReachesTheWatermark(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	m := New(Config{Replay: "monitor replay", Contract: Contract{Existing: true}})
	var eff Effects
	var d event.Decoder
	give := func(partition, id string, from, to int, ops string) {
		var b event.Batch
		b.Partitions = []string{partition}
		d.DecodeMessage(&b, event.Position{}, fmt.Appendf(nil, `{"txn":%q,"status":"committed","start":%d,"end":%d,"ops":[%s]}`,
			id, at.Add(time.Duration(from)*time.Second).UnixNano(), at.Add(time.Duration(to)*time.Second).UnixNano(), ops))
		if len(b.Bad) > 0 {
			t.Fatal(b.Bad[0].Reason)
		}
		m.Step(&b, []int32{0}, 0, &eff)
	}
	give("a", "T1", 0, 1, `{"op":"r","key":"y","value":[]},{"op":"append","key":"x","value":1}`)
	m.Stand("a", Left)
	give("b", "W1", 3600, 3605, "")
	give("a", "it's", 2, 3, `{"op":"r","key":"x","value":[]},{"op":"append","key":"y","value":1}`)
	if len(eff.Findings) != 1 {
		t.Fatalf("findings %+v", eff.Findings)
	}
	// From the start of T1 to the watermark, 5 s of lateness behind W1; 60 s + 30 s
	// + 5 s around it.
	want := "monitor replay --source default --from 2026-03-02T08:58:25Z --to 2026-03-02T10:01:35.000000001Z --finding " +
		eff.Findings[0].ID + ` --txn 'it'\''s' --txn T1`
	if got := eff.Findings[0].Command; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The command of a finding names the transactions of its first edges, as far as 20 go,
// in its epoch, and says how many edges have others.
func TestReplayQuestion(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	cfg := Config{Replay: "monitor replay", Contract: Contract{Existing: true}}
	m := New(cfg)
	var eff Effects
	var d event.Decoder
	give := func(id string, from, to int, ops string) {
		var b event.Batch
		b.Partitions = []string{"a"}
		d.DecodeMessage(&b, event.Position{}, fmt.Appendf(nil, `{"txn":%q,"epoch":"2 b","status":"committed","start":%d,"end":%d,"ops":[%s]}`,
			id, at.Add(time.Duration(from)*time.Second).UnixNano(), at.Add(time.Duration(to)*time.Second).UnixNano(), ops))
		m.Step(&b, []int32{0}, 0, &eff)
	}
	give("T1", 0, 1, `{"op":"r","key":"y","value":[]},{"op":"append","key":"x","value":1}`)
	give("W1", 3600, 3605, "")
	want := " --epoch '2 b' --unnamed 7 --txn L0 --txn T1"
	for i := range 25 {
		give(fmt.Sprint("L", i), 2, 3, `{"op":"r","key":"x","value":[]}`)
		if i > 0 && i < 18 {
			want += fmt.Sprint(" --txn L", i)
		}
	}
	again := New(cfg)
	if err := again.ReadState(m.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*Machine{m, again} {
		eff.Reset()
		m.Close(&eff)
		if len(eff.Findings) != 1 || !strings.HasSuffix(eff.Findings[0].Command, eff.Findings[0].ID+want) {
			t.Errorf("findings %+v\nwant %s", eff.Findings, want)
		}
	}
}

func TestShellQuote(t *testing.T) {
	for text, want := range map[string]string{
		"": "''", "T1": "T1", "a/b:c=d,e@f%g+h_i.j-k": "a/b:c=d,e@f%g+h_i.j-k",
		"a b": "'a b'", "$(x)": "'$(x)'", "it's": `'it'\''s'`, "*": "'*'", "é": "'é'", "a\nb": "'a\nb'", "~": "'~'",
	} {
		if got := ShellQuote(text); got != want {
			t.Errorf("%q is quoted as %s, want %s", text, got, want)
		}
	}
	if strings.ContainsAny(ShellQuote("-x"), "'") {
		t.Error("flags are quoted")
	}
}
