package main

import (
	"strings"
	"testing"
)

// What a finding does not hold cannot be printed: that is the caller's mistake.
func TestPicturesOfWhatIsNotKept(t *testing.T) {
	for _, c := range []struct {
		finding, output string
		want            string // "": it is printed
	}{
		{`{"id":"1","kind":"horizon","txns":["T2","T1"]}`, "history", "no records were kept"},
		{`{"id":"1","kind":"horizon","txns":["T2","T1"]}`, "svg", ""},
		{`{"id":"1","kind":"gap","txns":[]}`, "history", "no records were kept"},
		{`{"id":"1","kind":"gap","txns":[]}`, "svg", "nothing to draw"},
		{`{"id":"1","kind":"gap","txns":[]}`, "dot", "nothing to draw"},
		{`{"id":"1","txns":["T"],"history":[{"txn":"T"}]}`, "history", ""},
	} {
		text, err := appendPictured(nil, []byte(c.finding), c.output)
		if c.want == "" {
			if err != nil || len(text) == 0 {
				t.Errorf("%s of %s: %q, %v", c.output, c.finding, text, err)
			}
			continue
		}
		if code, tell := codeOf(err); code != exitUsage || !tell || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: code %d, %v", c.output, c.finding, code, err)
		}
	}
}
