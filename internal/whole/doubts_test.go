package whole

import (
	"strings"
	"testing"
)

// Each row adds records to a history without mistakes.
func TestSurveyDoubts(t *testing.T) {
	const committed = `"session":"s","seq":3,"status":"committed"`
	for _, c := range []struct{ name, records, want string }{
		{"none", ``, ""},
		{"seconds", `{"txn":"A",` + committed + `,"start":1795000000,"end":1795000001,"ops":[]}`, "look like seconds"},
		{"isolation", `{"txn":"A",` + committed + `,"start":5,"end":6,"isolation":"READ COMITTED","ops":[]}`, `no level is called "READ COMITTED"`},
		{"isolation of a product", `{"txn":"A",` + committed + `,"start":5,"end":6,"isolation":"repeatable read","ops":[]}`, ""},
		{"field", `{"txn":"A",` + committed + `,"start":5,"end":6,"ops":[],"sesion":"s"}`, `the field "sesion" is ignored: did you mean session?`},
		{"field of an operation", `{"txn":"A",` + committed + `,"start":5,"end":6,"ops":[{"op":"r","key":"x","value":1,"versoin":1}]}`, `the field "versoin" is ignored: did you mean version?`},
		{"field in other letters", `{"txn":"A",` + committed + `,"Start":5,"start":5,"end":6,"ops":[]}`, `the field "Start" is ignored: did you mean start?`},
		{"field of somebody", `{"txn":"A",` + committed + `,"start":5,"end":6,"ops":[],"datacenter":"b"}`, `the field "datacenter" is ignored`},
		{"version of a row", `{"txn":"A",` + committed + `,"start":5,"end":6,"ops":[{"op":"r","key":"i/price","value":1,"version":7},{"op":"w","key":"i/stock","value":2,"version":8},{"op":"r","key":"i/price","value":1,"version":8}]}`, "the version that its transaction gave to another key"},
		{"version of each key", `{"txn":"A",` + committed + `,"start":5,"end":6,"ops":[{"op":"w","key":"a","value":2,"version":8},{"op":"w","key":"b","value":2,"version":8},{"op":"r","key":"a","value":2,"version":8}]}`, ""},
		{"repetition", wellRecorded, "the record is a repetition"},
		{"other content", `{"txn":"T1",` + committed + `,"start":5,"end":6,"ops":[]}`, "the id of an earlier one, and other content"},
		{"outcome that came later", `{"txn":"A","status":"unknown","ops":[]}` + "\n" + `{"txn":"A","status":"committed","ops":[]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := SurveyFile("-", strings.NewReader(wellRecorded+c.records), nil)
			if err != nil || s.Invalid > 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			if c.want == "" && len(s.Doubts) == 0 {
				return
			}
			if len(s.Doubts) != 1 || !strings.Contains(s.Doubts[0].Text, c.want) || c.want == "" || !strings.HasPrefix(s.Doubts[0].Position, "stdin:") {
				t.Errorf("doubts %+v", s.Doubts)
			}
		})
	}
	s, err := SurveyFile("-", strings.NewReader(wellRecorded+wellRecorded), nil)
	if err != nil || s.Transactions != 2 || s.Held.Repeated != 0 || len(s.Doubts) != 1 || s.Doubts[0].Records != 2 {
		t.Errorf("the same records twice: %+v, %v", s, err)
	}
}
