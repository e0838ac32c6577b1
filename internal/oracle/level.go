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

// weaker are the models without sessions and time that each of them implies directly.
var weaker = map[string][]string{
	"read-committed":        {"read-uncommitted"},
	"monotonic-atomic-view": {"read-committed"},
	"read-atomic":           {"monotonic-atomic-view"},
	"causal":                {"read-atomic"},
	"prefix":                {"causal"},
	"cursor-stability":      {"read-committed"},
	"repeatable-read":       {"cursor-stability"},
	"consistent-view":       {"causal", "cursor-stability"},
	"snapshot-isolation":    {"prefix", "consistent-view"},
	"serializable":          {"snapshot-isolation", "repeatable-read", "update-serializable"},
	"update-serializable":   {"consistent-view"},
}

// baseImplies says whether a history that satisfies the one model satisfies the other.
func baseImplies(a, b string) bool {
	return a == b || slices.ContainsFunc(weaker[a], func(w string) bool { return baseImplies(w, b) })
}

// Levels are the four that are checked by default.
func Levels() []Level {
	return []Level{Serializable, Snapshot, SessionSerializable, SessionSnapshot}
}

// AllLevels are all that this package decides.
func AllLevels() []Level {
	var ls []Level
	for _, b := range []string{"read-uncommitted", "read-committed", "cursor-stability", "repeatable-read", "consistent-view", "update-serializable", "prefix", "snapshot-isolation", "serializable"} {
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
func (l Level) forbids(base string) bool { return baseImplies(l.base(), base) }

// chooses says whether the level has anti-dependencies, so that one order of the writers of each
// key must fit those who read them.
func (l Level) chooses() bool { return l.forbids("prefix") || l.forbids("cursor-stability") }

// family is the prefix of the level's name, before that of its base.
func (l Level) family() string { return strings.TrimSuffix(string(l), l.base()) }

func (l Level) sessions() bool { return strings.HasPrefix(string(l), "strong-") }

// realTime says whether what ended comes before what began later.
func (l Level) realTime() bool {
	return l == generalized || l.sessions() && !strings.HasPrefix(string(l), "strong-session-")
}
func (l Level) snapshot() bool { return l.base() == "snapshot-isolation" }
func (l Level) split() bool    { return l.base() == "snapshot-isolation" || l.base() == "prefix" }
