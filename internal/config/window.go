package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Window is how long transactions are kept for comparison. Exactly one of its
// fields counts for a source: the duration where records have times, the number
// where they have none.
type Window struct {
	Duration time.Duration
	Txns     int64 // 0: the default, 100,000
}

const txnsSuffix = "txns"

// ParseWindow reads a duration ("60s") or a number of transactions ("5000 txns"),
// which leaves the duration at its default.
func ParseWindow(text string) (Window, error) {
	w := Window{Duration: DefaultWindow}
	if number, ok := strings.CutSuffix(strings.TrimSpace(text), txnsSuffix); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 1 || n > maxWindowTxns {
			return w, fmt.Errorf("window %q: want 1 to %d txns", text, int64(maxWindowTxns))
		}
		w.Txns = n
		return w, nil
	}
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < 0 {
		return w, fmt.Errorf(`window %q: want a duration such as 60s, or a number such as "5000 txns"`, text)
	}
	w.Duration = d
	return w, nil
}

func (w Window) String() string {
	if w.Txns > 0 {
		return strconv.FormatInt(w.Txns, 10) + " " + txnsSuffix
	}
	return w.Duration.String()
}

type windowLeaf struct{ to *Window }

func (l windowLeaf) String() string { return l.to.String() }
func (l windowLeaf) set(value string) error {
	w, err := ParseWindow(value)
	if err == nil {
		*l.to = w
	}
	return err
}
