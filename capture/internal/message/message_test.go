package message

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/capture"
)

// TestDeliver sends lines to a broker that takes messages of up to 7 bytes, whatever
// the sink takes for its limit.
func TestDeliver(t *testing.T) {
	large, away := errors.New("large"), errors.New("away")
	for _, c := range []struct {
		lines string
		limit int
		sent  string
		lost  int
		err   error
	}{
		{"a b c", 100, "a+b+c", 0, nil},
		{"aa bb cc", 6, "aa+bb cc", 0, nil},
		{"aa", 1, "aa", 0, nil},
		{"aaaa bbbb c", 100, "aaaa bbbb c", 0, nil},
		{"aaaa 88888888 c 88888888", 100, "aaaa c", 2, nil},
		{"aa away c", 3, "aa", 0, away},
	} {
		var sent []string
		var lines [][]byte
		for _, line := range strings.Fields(c.lines) {
			lines = append(lines, []byte(line))
		}
		err := Deliver(lines, c.limit, func(m []byte) error {
			switch text := string(m); {
			case text == "away":
				return fmt.Errorf("send: %w", away)
			case len(m) > 7:
				return large
			}
			sent = append(sent, strings.ReplaceAll(string(m), "\n", "+"))
			return nil
		}, func(err error) bool { return errors.Is(err, large) })
		var rejected *capture.Rejected
		if errors.As(err, &rejected) != (c.lost > 0) || rejected != nil && (rejected.Lines != c.lost || !errors.Is(err, large)) || c.lost == 0 && !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.lines, err)
		}
		if got := strings.Join(sent, " "); got != c.sent {
			t.Errorf("%s: sent %s, want %s", c.lines, got, c.sent)
		}
	}
}
