package whole

import (
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
)

// blindSkew has blind writes whose order must be searched for.
const blindSkew = `{"txn":"A","session":"1","seq":1,"status":"committed","ops":[{"op":"w","key":"x","value":1},{"op":"w","key":"y","value":1}]}
{"txn":"B","session":"2","seq":1,"status":"committed","ops":[{"op":"w","key":"x","value":2},{"op":"w","key":"y","value":2}]}
{"txn":"C","session":"3","seq":1,"status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"r","key":"y","value":1}]}
{"txn":"D","session":"4","seq":1,"status":"committed","ops":[{"op":"r","key":"x","value":2},{"op":"r","key":"y","value":2}]}
`

// TestPhases: each phase of a check is told, also the levels that an order is searched for at.
func TestPhases(t *testing.T) {
	for _, c := range []struct{ levels, want string }{
		{"serializable", "reading; reading again; deciding"},
		{"read-atomic", "reading; reading again; deciding"},
		{"generalized-snapshot-isolation", "reading; reading again; deciding; deciding generalized-snapshot-isolation"},
	} {
		var told []string
		w := Whole{Watch: config.DefaultWatch(config.WholeContract()), Stdin: strings.NewReader(blindSkew), Doing: func(phase string) { told = append(told, phase) }}
		if err := w.Watch.SetLevels(c.levels); err != nil {
			t.Fatal(err)
		}
		read := 0
		w.Tell = func(n int) { read += n }
		if _, err := w.CheckFile("-"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Compact(told), "; "); got != c.want {
			t.Errorf("%s: %s, want %s", c.levels, got, c.want)
		}
		if read < len(blindSkew) {
			t.Errorf("%s: told of %d bytes", c.levels, read)
		}
	}
}

// TestPhasesOfSeveral: with several files the phases name their file.
func TestPhasesOfSeveral(t *testing.T) {
	told := make(chan string, 1000)
	w := Whole{Watch: config.DefaultWatch(config.WholeContract()), Doing: func(phase string) { told <- phase }}
	names := manyFiles(t, 8)[1:3]
	if err := w.CheckFiles(names, func(*Answer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	close(told)
	var all []string
	for phase := range told {
		all = append(all, phase)
	}
	if !slices.Contains(all, names[0]+": deciding") || !slices.Contains(all, Reading) || slices.Contains(all, "deciding") || slices.Contains(all, ReadingAgain) {
		t.Errorf("told %q", all)
	}
}
