package config

import (
	"strings"
	"testing"
	"time"
)

func TestContractSet(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       func(*Contract) // applied to the live contract
	}{
		{"capture", "capture=complete", func(c *Contract) { c.Complete = true }},
		{"start", "start=empty", func(c *Contract) { c.Existing = false }},
		{"writers", "unmonitored-writers=no", func(c *Contract) { c.UnmonitoredWriters = false }},
		{"deletes", "deletes=unseen", func(c *Contract) { c.DeletesUnseen = true }},
		{"identity", "value-identity=version", func(c *Contract) { c.ByVersion, c.Observed = true, false }},
		{"order", "version-order=numeric", func(c *Contract) { c.NumericVersions = true }},
		{"sessions", "sequential-keys=true,wfr-keys=true", func(c *Contract) { c.SequentialKeys = true }},
		{"real time", "linearizable-keys=true", func(c *Contract) { c.LinearizableKeys = true }},
		{"commit times", "trust-commit-ts=true", func(c *Contract) { c.TrustCommitTS = true }},
		{"asked", "isolation=ignore", func(c *Contract) { c.IgnoreIsolation = true }},
		{"drift", "clock-drift=2s", func(c *Contract) { c.ClockDrift = 2 * time.Second }},
		{"several, with spaces", " capture=complete , start = empty", func(c *Contract) { c.Complete, c.Existing = true, false }},
		{"as it is", "capture=partial", func(*Contract) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, want := LiveContract(), LiveContract()
			c.want(&want)
			if err := got.Set(c.text); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestContractFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"capture", `"capture" is not KEY=VALUE`},
		{"", `"" is not KEY=VALUE`},
		{"captures=complete", `no key is called "captures"`},
		{"capture=Complete", `capture is "Complete", want partial or complete`},
		{"clock-drift=100", `clock-drift is "100", want a duration`},
		{"clock-drift=-1s", `clock-drift is "-1s"`},
		{"start=empty,start=existing", "start is given twice"},
	} {
		got := WholeContract()
		err := got.Set(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Set(%q): %v, want %s", c.text, err, c.want)
		}
		if got != WholeContract() {
			t.Errorf("Set(%q) changed the contract to %s", c.text, got)
		}
	}
}

func TestContractFaultsAreAllListed(t *testing.T) {
	c := WholeContract()
	err := c.Set("capture=complete,start=never,deletes=perhaps")
	for _, want := range []string{"start", "deletes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

func TestContractRoundTrip(t *testing.T) {
	odd := Contract{DeletesUnseen: true, NumericVersions: true, TrustCommitTS: true, SequentialKeys: true, LinearizableKeys: true, IgnoreIsolation: true, ClockDrift: time.Minute}
	for _, c := range []Contract{WholeContract(), LiveContract(), odd} {
		got := Contract{Complete: true, Existing: true, ByVersion: true}
		if err := got.Set(c.String()); err != nil || got != c {
			t.Errorf("Set(%q) = %s, %v", c, got, err)
		}
	}
}

// The defaults are promised in docs/format.md and by the design.
func TestContractDefaults(t *testing.T) {
	const rest = "version-order=none,trust-commit-ts=false,sequential-keys=false,linearizable-keys=false,isolation=respect,begins=unrecorded,sessions=open,wfr-keys=true,"
	for _, c := range []struct {
		contract Contract
		want     string
	}{
		{WholeContract(), "capture=complete,start=empty,unmonitored-writers=no,deletes=recorded,value-identity=unique," + rest + "clock-drift=0s"},
		{LiveContract(), "capture=partial,start=existing,unmonitored-writers=yes,deletes=unseen,value-identity=observed," + rest + "clock-drift=100ms"},
	} {
		if got := c.contract.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestContractItems: each item is understood, and every key has one.
func TestContractItems(t *testing.T) {
	keys := map[string]bool{}
	for _, item := range ContractItems() {
		key, value, _ := strings.Cut(item, "=")
		keys[key] = true
		if value == "" {
			item += "1s"
		}
		if err := new(Contract).Set(item); err != nil {
			t.Errorf("%s: %v", item, err)
		}
	}
	if len(keys) != len(contractKeys()) {
		t.Errorf("%d keys, want %d", len(keys), len(contractKeys()))
	}
}

// A part of a history is checked with what is not the default for recorded ones.
func TestContractForCheck(t *testing.T) {
	c := LiveContract()
	c.Begins, c.ClosedSessions, c.TrustCommitTS = true, true, true
	want := "capture=partial,start=existing,unmonitored-writers=yes,deletes=unseen,value-identity=observed,trust-commit-ts=true,clock-drift=100ms"
	if got := c.ForCheck(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := WholeContract().ForCheck(); got != "" {
		t.Errorf("the default has %s", got)
	}
}
