package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/internal/isolation"
)

// Contract has the declarations of a source's operator about its capture. The conclusions
// from the absence of a record depend on it (docs/semantics.md, section 2).
type Contract struct {
	Complete           bool // capture: complete, else partial
	Existing           bool // start: existing, else empty
	UnmonitoredWriters bool
	DeletesUnseen      bool // deletes: unseen, else recorded
	ByVersion          bool // value-identity: version
	Observed           bool // value-identity: observed; neither: unique
	NumericVersions    bool // version-order: numeric, else none
	TrustCommitTS      bool
	SequentialKeys     bool
	LinearizableKeys   bool
	IgnoreIsolation    bool          // isolation: ignore, else respect
	Begins             bool          // begins: recorded, else unrecorded
	ClosedSessions     bool          // sessions: closed, else open
	ClockDrift         time.Duration // between any two clocks
}

// WholeContract is the default for recorded histories: everything is there, from
// the beginning on.
func WholeContract() Contract { return Contract{Complete: true} }

// LiveContract is the default for a service that joins a running database.
func LiveContract() Contract {
	return Contract{Existing: true, UnmonitoredWriters: true, DeletesUnseen: true, Observed: true, ClockDrift: 100 * time.Millisecond}
}

// choice is a key with two values; the second one sets the field.
type choice struct {
	key, off, on string
	field        *bool
}

func (c *Contract) choices() []choice {
	return []choice{
		{"capture", "partial", "complete", &c.Complete},
		{"start", "empty", "existing", &c.Existing},
		{"unmonitored-writers", "no", "yes", &c.UnmonitoredWriters},
		{"deletes", "recorded", "unseen", &c.DeletesUnseen},
		{"version-order", "none", "numeric", &c.NumericVersions},
		{"trust-commit-ts", "false", "true", &c.TrustCommitTS},
		{"sequential-keys", "false", "true", &c.SequentialKeys},
		{"linearizable-keys", "false", "true", &c.LinearizableKeys},
		{"isolation", "respect", "ignore", &c.IgnoreIsolation},
		{"begins", "unrecorded", "recorded", &c.Begins},
		{"sessions", "open", "closed", &c.ClosedSessions},
	}
}

const driftKey = "clock-drift"

const identityKey = "value-identity"

// wfrKey is Elle's key for an assumption that always holds here: writes follow reads.
const wfrKey = "wfr-keys"

// Set changes the keys that text names, "key=value,...", and leaves the others.
// The error lists everything that is wrong; c is then unchanged.
func (c *Contract) Set(text string) error {
	next := *c
	var faults []error
	seen := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("contract: %q is not KEY=VALUE", item))
		case seen[key]:
			faults = append(faults, fmt.Errorf("contract: %s is given twice", key))
		default:
			faults = append(faults, next.set(key, value))
		}
		seen[key] = true
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	*c = next
	return nil
}

func (c *Contract) set(key, value string) error {
	if key == driftKey {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return fmt.Errorf("contract: %s is %q, want a duration such as 100ms", key, value)
		}
		c.ClockDrift = d
		return nil
	}
	if key == wfrKey {
		if value != "true" {
			return fmt.Errorf("contract: %s is %q, and can only be true: a transaction that read a key and wrote it replaced what it had read", key, value)
		}
		return nil
	}
	if key == identityKey {
		return c.setIdentity(value)
	}
	choices := c.choices()
	i := slices.IndexFunc(choices, func(x choice) bool { return x.key == key })
	if i < 0 {
		return fmt.Errorf("contract: no key is called %q; %s", key, isolation.Offer(key, contractKeys()))
	}
	switch x := choices[i]; value {
	case x.off:
		*x.field = false
	case x.on:
		*x.field = true
	default:
		return fmt.Errorf("contract: %s is %q, want %s or %s", key, value, x.off, x.on)
	}
	return nil
}

func contractKeys() []string {
	var keys []string
	for _, x := range new(Contract).choices() {
		keys = append(keys, x.key)
		if x.key == "deletes" {
			keys = append(keys, identityKey)
		}
	}
	return append(keys, wfrKey, driftKey)
}

// ContractItems are all that a contract can say, KEY=VALUE; of a duration only KEY=.
func ContractItems() []string {
	var items []string
	c := new(Contract)
	for _, key := range contractKeys() {
		switch key {
		case identityKey:
			items = append(items, key+"=unique", key+"=version", key+"=observed")
		case wfrKey:
			items = append(items, key+"=true")
		case driftKey:
			items = append(items, key+"=")
		default:
			x := c.choices()[slices.IndexFunc(c.choices(), func(x choice) bool { return x.key == key })]
			items = append(items, key+"="+x.off, key+"="+x.on)
		}
	}
	return items
}

// setIdentity says what tells the versions of a register from each other.
func (c *Contract) setIdentity(value string) error {
	switch value {
	case "unique", "version", "observed":
		c.ByVersion, c.Observed = value == "version", value == "observed"
		return nil
	}
	return fmt.Errorf("contract: %s is %q, want unique, version or observed", identityKey, value)
}

func (c *Contract) identity() string {
	switch {
	case c.ByVersion:
		return "version"
	case c.Observed:
		return "observed"
	}
	return "unique"
}

// contractLeaf is one key of a contract.
type contractLeaf struct {
	*Contract
	key string
}

// set takes true and false for yes and no: YAML 1.1, which Helm reads, knows no difference.
func (l contractLeaf) set(value string) error {
	for _, x := range l.choices() {
		if x.key == l.key && slices.Contains([]string{x.off, x.on}, "no") {
			switch value {
			case "true":
				value = "yes"
			case "false":
				value = "no"
			}
		}
	}
	return l.Contract.set(l.key, value)
}

func (l contractLeaf) String() string { return l.value(l.key) }

// value of a key, as set reads it.
func (c *Contract) value(key string) string {
	for _, x := range c.choices() {
		switch {
		case x.key == key && *x.field:
			return x.on
		case x.key == key:
			return x.off
		}
	}
	switch key {
	case wfrKey:
		return "true"
	case identityKey:
		return c.identity()
	}
	return c.ClockDrift.String()
}

func (c *Contract) fields() []field {
	var all []field
	for _, key := range contractKeys() {
		all = append(all, field{key, contractLeaf{c, key}})
	}
	return all
}

// ForCheck has what c says else than the default for recorded histories. It is for a part of a history, so it leaves out
// begins and sessions: a part has only some of them.
func (c Contract) ForCheck() string {
	usual := WholeContract()
	c.Begins, c.ClosedSessions = false, false
	var items []string
	for _, key := range contractKeys() {
		if value := c.value(key); value != usual.value(key) {
			items = append(items, key+"="+value)
		}
	}
	return strings.Join(items, ",")
}

// String has every key; Set reads it back.
func (c Contract) String() string {
	var items []string
	for _, key := range contractKeys() {
		items = append(items, key+"="+c.value(key))
	}
	return strings.Join(items, ",")
}
