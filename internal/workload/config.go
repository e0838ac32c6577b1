package workload

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the kind of object that generated transactions use.
type Kind uint8

const (
	// Registers are written only after a read of the same key in the same transaction. So a
	// read names every version's predecessor. The share Blind of the writes is an exception.
	Registers Kind = iota
	// Lists are appended to; a read returns all elements so far.
	Lists
)

// Isolation is the level that the simulated store really provides.
type Isolation uint8

const (
	// Serializable: each transaction happens at one instant between its start
	// and its end, which is also strict.
	Serializable Isolation = iota
	// SnapshotIsolation: reads happen at one instant, writes at a later one, and
	// the first committer wins. Write skew occurs by itself.
	SnapshotIsolation
)

// Config says what a [Generator] makes. Zero fields take the default named.
type Config struct {
	Kind      Kind
	Isolation Isolation
	Source    string // of every transaction; default none
	Count     int    // transactions, planted ones not counted; default no end

	Sessions   int     // concurrent clients; default 64
	Keys       int     // default 10,000
	Zipf       float64 // exponent above 1 of the key choice; default uniform
	Ops        int     // operations a transaction; default 4
	WriteRatio float64 // chance that a key is written as well as read; default 0.25, negative: none
	Blind      float64 // chance that a register that is written is not read before; default 0
	ListLength int     // appends after which a list key gives way to a new one; default 16

	Aborted float64 // share of transactions that abort; default 0
	Unknown float64 // share whose outcome the client does not know; default 0

	Start    int64         // event time of the first start, ns since the Unix epoch; default 2025-01-01
	Interval time.Duration // mean event time between transactions of all sessions; default 10 us
	Busy     float64       // share of its time that a session spends inside a transaction, below 1; default 0.5

	PlantEvery int      // transactions between two planted anomalies; default none
	Plant      []string // names of anomalies to plant in turn; default all of Anomalies(Kind)
}

// defaultStart is 2025-01-01T00:00:00Z.
const defaultStart = 1_735_689_600_000_000_000

// withDefaults fills zero fields and then lists everything that is wrong.
func (c Config) withDefaults() (Config, error) {
	setInt(&c.Sessions, 64)
	setInt(&c.Keys, 10_000)
	setInt(&c.Ops, 4)
	setInt(&c.ListLength, 16)
	if c.WriteRatio == 0 {
		c.WriteRatio = 0.25
	}
	if c.Start == 0 {
		c.Start = defaultStart
	}
	if c.Interval == 0 {
		c.Interval = 10 * time.Microsecond
	}
	if c.Busy == 0 {
		c.Busy = 0.5
	}
	if c.PlantEvery > 0 && c.Plant == nil {
		c.Plant = Anomalies(c.Kind)
	}
	return c, c.validate()
}

func setInt(field *int, value int) {
	if *field == 0 {
		*field = value
	}
}

func (c *Config) validate() error {
	var faults []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("workload: "+format, args...))
		}
	}
	require(c.Kind <= Lists, "kind %d is unknown", c.Kind)
	require(c.Isolation <= SnapshotIsolation, "isolation %d is unknown", c.Isolation)
	require(c.Count >= 0, "count %d: must not be negative", c.Count)
	require(c.Sessions > 0, "sessions %d: must be positive", c.Sessions)
	require(c.Keys > 0, "keys %d: must be positive", c.Keys)
	require(c.Ops > 0, "ops %d: must be positive", c.Ops)
	require(c.ListLength > 0, "list length %d: must be positive", c.ListLength)
	require(c.Zipf == 0 || c.Zipf > 1, "zipf %g: must be 0 (uniform) or above 1", c.Zipf)
	require(c.WriteRatio <= 1, "write ratio %g: must be at most 1", c.WriteRatio)
	require(c.Blind >= 0 && c.Blind <= 1, "blind %g: must be between 0 and 1", c.Blind)
	require(c.Aborted >= 0 && c.Unknown >= 0 && c.Aborted+c.Unknown <= 1,
		"aborted %g and unknown %g: must be shares of 1", c.Aborted, c.Unknown)
	require(c.Busy > 0 && c.Busy < 1, "busy %g: must be between 0 and 1", c.Busy)
	require(c.Interval > 0, "interval %v: must be positive", c.Interval)
	require(c.PlantEvery >= 0, "plant every %d: must not be negative", c.PlantEvery)
	for _, name := range c.Plant {
		_, ok := templateOf(c.Kind, name)
		require(ok, "anomaly %q cannot be planted in this kind; known: %v", name, Anomalies(c.Kind))
	}
	return errors.Join(faults...)
}
