package isolation

import (
	"testing"

	"github.com/isowatch/isowatch/event"
)

// Versions are told in words. A plain word has no quotes.
func TestVersionText(t *testing.T) {
	for want, o := range map[string]event.RecordOp{
		"w x 1":                               {},
		"w x 1 (version 3604)":                {Version: `"3604"`},
		"w x 1 (version 3604 after 3600)":     {Version: `"3604"`, PrevVersion: `"3600"`},
		"w x 1 (version 9 after 7)":           {Version: "9", PrevVersion: "7"},
		"w x 1 (after version 7)":             {PrevVersion: "7"},
		`w x 1 (version "1) r y 2")`:          {Version: `"1) r y 2"`},
		"w x 1 (version 0/16B3748 after 0:1)": {Version: `"0/16B3748"`, PrevVersion: `"0:1"`},
	} {
		o.Kind, o.Key, o.Value = event.Write, "x", "1"
		if got := Operation(&o); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
