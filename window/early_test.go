package window

import (
	"strings"
	"testing"
)

// A time in another unit than nanoseconds is one of the 1970s.
func TestEarly(t *testing.T) {
	const now = int64(1_795_000_000)
	for ns, want := range map[int64]string{
		0: "", 20: "", 999_999_999: "", now * 1e9: "", 946_684_800e9: "",
		now: "look like seconds", now * 1e3: "look like milliseconds", now * 1e6: "look like microseconds", 60e9: "nanoseconds since 1970",
	} {
		if got := Early(ns); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%d: %q, want %q", ns, got, want)
		}
	}
}
