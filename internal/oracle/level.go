package oracle

import (
	"slices"
	"strings"

	"github.com/isowatch/isowatch/internal/workload"
)

// Level is an isolation level by its name on the command line.
type Level string

const (
	Serializable        Level = workload.LevelSerializable
	Snapshot            Level = workload.LevelSnapshot
	SessionSerializable Level = workload.LevelSessionSerializable
	SessionSnapshot     Level = workload.LevelSessionSnapshot
)

const generalized Level = "generalized-snapshot-isolation"

// bases are the models without sessions and time, from weak to strong: a history
// that satisfies one satisfies those before it.
var bases = []string{
	"read-uncommitted", "read-committed", "monotonic-atomic-view", "read-atomic", "causal",
	"prefix", "snapshot-isolation", "serializable",
}

// Levels are the four that are checked by default.
func Levels() []Level {
	return []Level{Serializable, Snapshot, SessionSerializable, SessionSnapshot}
}

// AllLevels are all that this package decides.
func AllLevels() []Level {
	var ls []Level
	for _, b := range []string{"read-uncommitted", "read-committed", "prefix", "snapshot-isolation", "serializable"} {
		ls = append(ls, Level(b), Level("strong-session-"+b), Level("strong-"+b))
	}
	return append(ls, generalized)
}

// base is the model of the level without sessions and time.
func (l Level) base() string {
	name := strings.TrimPrefix(strings.TrimPrefix(string(l), "strong-"), "session-")
	if l == generalized {
		return "snapshot-isolation"
	}
	return name
}

// forbids says whether the level implies the base, so that it falls with it.
func (l Level) forbids(base string) bool {
	return slices.Index(bases, l.base()) >= slices.Index(bases, base)
}

func (l Level) sessions() bool { return strings.HasPrefix(string(l), "strong-") }

// realTime says whether what ended comes before what began later.
func (l Level) realTime() bool {
	return l == generalized || l.sessions() && !strings.HasPrefix(string(l), "strong-session-")
}
func (l Level) snapshot() bool { return l.base() == "snapshot-isolation" }
func (l Level) split() bool    { return l.base() == "snapshot-isolation" || l.base() == "prefix" }
