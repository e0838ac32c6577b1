package capture

import (
	"context"
	"strings"
	"testing"
)

func TestSessions(t *testing.T) {
	other, err := New(&memory{}, "other", WithPlainValues())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	foreign := other.Session("s")
	lines := recorded(t, func(r *Recorder) {
		s, twin := r.Session("s"), r.Session("s")
		ctx := WithSession(WithSession(t.Context(), foreign), s)
		if r.SessionFrom(ctx) != s || other.SessionFrom(ctx) != foreign || r.SessionFrom(t.Context()) != nil {
			t.Error("the context gives another session")
		}
		begin := func(name string, s *Session) *Txn { return r.Begin(Begin{Name: name, Session: s}) }
		begin("first", r.SessionFrom(ctx)).End(Committed)
		outer := begin("second", s)
		begin("within", s).End(Committed) // not after the second
		outer.End(Committed)
		begin("third", s).End(Aborted)
		begin("twin", twin).End(Committed)
		begin("foreign", foreign).End(Committed)
		begin("none", r.SessionFrom(WithSession(t.Context(), nil))).End(Committed)
	}, WithPlainValues())
	want := map[string]string{"first": "s.1 1", "second": "s.1 2", "third": "s.1 3", "twin": "s.2 1", "within": " 0", "foreign": " 0", "none": " 0"}
	for _, rec := range decoded(t, lines) {
		name, number, _ := strings.Cut(rec.Session, "/")
		_, number, dot := strings.Cut(number, ".")
		if dot {
			name += "." + number
		}
		if got := name + " " + string(rune('0'+rec.Seq)); got != want[rec.Name] {
			t.Errorf("%s is of session and seq %q, want %q", rec.Name, got, want[rec.Name])
		}
		delete(want, rec.Name)
	}
	if len(want) > 0 {
		t.Errorf("no records of %v", want)
	}
	if report := check(t, lines); report.Counters.Gaps != 0 || len(report.Findings) > 0 {
		t.Errorf("%+v %+v", report.Counters, report.Findings)
	}
}

// Two recorders of one source make different ids and sessions.
func TestInstances(t *testing.T) {
	seen := map[string]bool{}
	for range 3 {
		rec := one(t, recorded(t, func(r *Recorder) { blind(r, r.Session("s"), 1) }, WithPlainValues()))
		if seen[rec.ID] || seen[rec.Session] {
			t.Errorf("twice: %s, %s", rec.ID, rec.Session)
		}
		seen[rec.ID], seen[rec.Session] = true, true
	}
}
