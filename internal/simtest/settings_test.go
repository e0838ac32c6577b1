package simtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// whole is the configuration that scenarios begin with, that of a whole history
// in a file: a complete capture, decided at its end.
func whole() window.Config {
	return window.Config{Unbounded: true, Asking: true, Contract: window.Contract{Complete: true}}
}

// set changes what "contract" and "config" lines name: key=value words.
func set(cfg *window.Config, words string) error {
	for _, w := range strings.Fields(words) {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return fmt.Errorf("%q is not of the form key=value", w)
		}
		if err := setOne(cfg, key, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func setOne(cfg *window.Config, key, value string) (err error) {
	c := &cfg.Contract
	switch key {
	case "capture":
		c.Complete, err = oneOf(value, "complete", "partial")
	case "start":
		c.Existing, err = oneOf(value, "existing", "empty")
	case "unmonitored-writers":
		c.UnmonitoredWriters, err = oneOf(value, "yes", "no")
	case "deletes":
		c.DeletesUnseen, err = oneOf(value, "unseen", "recorded")
	case "value-identity":
		if c.Observed = value == "observed"; !c.Observed {
			c.ByVersion, err = oneOf(value, "version", "unique")
		}
	case "version-order":
		c.NumericVersions, err = oneOf(value, "numeric", "none")
	case "trust-commit-ts":
		c.TrustCommitTS, err = oneOf(value, "true", "false")
	case "sequential-keys":
		c.SequentialKeys, err = oneOf(value, "true", "false")
	case "linearizable-keys":
		c.LinearizableKeys, err = oneOf(value, "true", "false")
	case "clock-drift":
		c.ClockDrift, err = time.ParseDuration(value)
	case "clamp":
		cfg.Clamp, err = oneOf(value, "yes", "no")
	case "window":
		cfg.Unbounded = false
		if !cfg.Lateness.Set {
			cfg.Lateness = window.For(0)
		}
		cfg.Window.Set = true
		cfg.Window.D, err = time.ParseDuration(value)
	case "window-txns":
		cfg.Unbounded = false
		cfg.WindowTxns, err = strconv.ParseInt(value, 10, 64)
	case "lateness":
		cfg.Lateness.Set = true
		cfg.Lateness.D, err = time.ParseDuration(value)
	case "pane":
		cfg.Pane, err = time.ParseDuration(value)
	case "idle":
		cfg.Idle, err = time.ParseDuration(value)
	case "max-transaction":
		cfg.MaxTxn, err = time.ParseDuration(value)
	case "live-cap":
		cfg.LiveCap, err = strconv.Atoi(value)
	case "key-cap":
		cfg.KeyCap, err = strconv.Atoi(value)
	case "levels":
		cfg.Levels, err = isolation.ParseLevels(value)
		cfg.Named = value != "all"
	case "expect":
		cfg.Asking = false
		cfg.Expect, _, err = isolation.ParseExpected(value)
		cfg.Product, _, _ = strings.Cut(value, "/")
		if !strings.Contains(value, "/") {
			cfg.Product = ""
		}
		cfg.Rules = isolation.RulesOf(value)
	case "isolation":
		c.IgnoreIsolation, err = oneOf(value, "ignore", "respect")
	case "begins":
		c.Begins, err = oneOf(value, "recorded", "unrecorded")
	case "patterns":
		cfg.Patterns = strings.Split(value, ",")
	case "sessions": // all there are
		c.ClosedSessions, cfg.Sessions = true, strings.Split(value, ",")
	case "replay":
		cfg.Replay = strings.ReplaceAll(value, "_", " ")
	default:
		err = fmt.Errorf("no such setting")
	}
	return err
}

func oneOf(value, yes, no string) (bool, error) {
	if value != yes && value != no {
		return false, fmt.Errorf("%q is neither %s nor %s", value, yes, no)
	}
	return value == yes, nil
}

func TestSet(t *testing.T) {
	cfg := whole()
	if err := set(&cfg, "capture=partial window=20ms levels=serializable live-cap=3"); err != nil {
		t.Fatal(err)
	}
	if cfg.Contract.Complete || cfg.Unbounded || cfg.Window != window.For(20*time.Millisecond) || len(cfg.Levels) != 1 || cfg.LiveCap != 3 {
		t.Errorf("got %+v", cfg)
	}
	for words, want := range map[string]string{
		"capture":       `"capture" is not of the form key=value`,
		"capture=half":  `capture: "half" is neither complete nor partial`,
		"windows=20ms":  "windows: no such setting",
		"live-cap=many": `live-cap: strconv.Atoi: parsing "many": invalid syntax`,
	} {
		if err := set(&cfg, words); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", words, err, want)
		}
	}
}
