package whole

import (
	"slices"
	"strings"
	"testing"
)

const wellRecorded = `{"txn":"T1","session":"s","seq":1,"start":1,"end":2,"status":"committed","ops":[{"op":"r","key":"x","found":false},{"op":"w","key":"x","value":1}]}
{"txn":"T2","session":"s","seq":2,"start":3,"end":4,"status":"aborted","ops":[{"op":"r","key":"x","value":1}]}
`

// Each row adds a record to a history that lacks nothing.
func TestSurveyLimits(t *testing.T) {
	for _, c := range []struct{ name, record, cannot, because string }{
		{"nothing", ``, "", ""},
		{"session", `{"txn":"A","start":5,"end":6,"status":"committed","ops":[]}`, "anomalies within a session", "1 of 3"},
		{"seq", `{"txn":"A","session":"s","start":5,"end":6,"status":"committed","ops":[]}`, "missing from a session", "1 of 3"},
		{"times", `{"txn":"A","session":"s","seq":3,"status":"committed","ops":[]}`, "real-time order", "1 of 3"},
		{"blind write", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"w","key":"x","value":2}]}`,
			"order in which some keys were written", "1 of 2"},
		{"second write of an own key", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":2},{"op":"w","key":"x","value":3}]}`,
			"", ""},
		{"repeated value", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":1}]}`,
			"which transaction", "1 of 2"},
		{"counter", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"inc","key":"n","value":1}]}`,
			"order of increments", "1 of 4"},
		{"cas that does not say what it saw", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"cas","key":"x","expected":1,"value":2,"success":false}]}`,
			"what such an operation saw", "1 of 1"},
		{"cas that says it", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"cas","key":"x","expected":1,"value":2,"success":false,"seen":3}]}`,
			"", ""},
		{"delete", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"delete","key":"x"}]}`,
			"stale reads of deleted keys", "1 operation deletes"},
		{"set", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"add","key":"s","value":1},{"op":"r","key":"s","kind":"set","value":[1]}]}`,
			"", ""},
		{"range", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"range","from":"a","to":"c","result":[]}]}`,
			"", ""},
		{"version", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"r","key":"x","value":1,"version":1}]}`,
			"", ""},
		{"blind write that says what it replaced", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"w","key":"x","value":1,"version":2,"prev_version":1}]}`,
			"", ""},
		{"blind write with a version", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"w","key":"x","value":1,"version":2}]}`,
			"order in which some keys were written", "1 of 2"},
		{"stale", `{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","stale":true,"ops":[]}`,
			"stale reads by", "1 of 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := SurveyFile("-", strings.NewReader(wellRecorded+c.record), nil)
			if err != nil || s.Invalid > 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			if c.cannot == "" {
				if len(s.Limits) > 0 {
					t.Errorf("limits %+v", s.Limits)
				}
				return
			}
			if len(s.Limits) != 1 || !strings.Contains(s.Limits[0].Cannot, c.cannot) || !strings.HasPrefix(s.Limits[0].Because, c.because) {
				t.Errorf("limits %+v", s.Limits)
			}
		})
	}
}

func TestSurveyOfLittle(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // beginnings of the limits
	}{
		{"", []string{"anything"}},
		{`{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"aborted","ops":[{"op":"r","key":"x","found":false}]}`, []string{"any anomaly"}},
		{`{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"aborted","ops":[{"op":"append","key":"x","value":1}]}`, []string{"any anomaly that a read"}},
		{`{"txn":"A","session":"s","seq":3,"start":5,"end":6,"status":"committed","ops":[{"op":"append","key":"x","value":1},{"op":"r","key":"x","value":[1]}]}`, []string{"reads of aborted"}},
	} {
		s, err := SurveyFile("-", strings.NewReader(c.text), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range s.Limits {
			got = append(got, l.Cannot)
		}
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: cannot reveal %q, want %q", c.text, got, c.want)
		}
	}
}

func TestSurveyCountsRecords(t *testing.T) {
	s, err := SurveyFile("-", strings.NewReader(strings.Join([]string{
		`{"type":"begin","txn":"A"}`,
		`{"type":"op","txn":"A","index":0,"op":"append","key":"x","value":1}`,
		`{"type":"commit","txn":"A"}`,
		`{"type":"begin","txn":"never ended"}`,
		`{"type":"commit","txn":"never begun"}`,
		`{"txn":"B","status":"committed","ops":[]}`,
		`nonsense`,
	}, "\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Records != 7 || s.Invalid != 2 || s.Transactions != 3 || s.Held.Unknown != 1 {
		t.Errorf("%d records, %d invalid, %d transactions, %d unknown", s.Records, s.Invalid, s.Transactions, s.Held.Unknown)
	}
	var places []string
	for _, f := range s.Faults {
		places = append(places, f.Position)
	}
	if strings.Join(places, " ") != "stdin:7 stdin:5" && strings.Join(places, " ") != "stdin:5 stdin:7" {
		t.Errorf("faults at %v", places)
	}
}

func TestSurveyListsTheFirstFaults(t *testing.T) {
	s, err := SurveyFile("-", strings.NewReader(skewOne+"\n"+strings.Repeat("x\n", 2*maxFaults)), nil)
	if err != nil || s.Invalid != 2*maxFaults || len(s.Faults) != maxFaults {
		t.Errorf("%d invalid, %d listed, %v", s.Invalid, len(s.Faults), err)
	}
}
