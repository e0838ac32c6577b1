package isolation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Family says what a level promises beyond the dependencies of the data.
type Family uint8

const (
	Plain         Family = iota // nothing
	StrongSession               // session order
	Strong                      // session order and real time
)

// Level is an isolation level. The zero Level is none.
type Level struct {
	Base   Base
	Family Family
	// Special is for the two levels outside the grid; Base and Family are then
	// unused.
	Special Special
}

// Special names a level outside the grid of bases and families.
type Special uint8

const (
	// GeneralizedSI orders every start after the commits that ended before it,
	// by real time: stronger than snapshot isolation, weaker than the strong one.
	GeneralizedSI Special = iota + 1
	// Linearizable is for single keys: registers, with compare-and-set or without, and lists.
	Linearizable
)

var familyPrefix = [...]string{Plain: "", StrongSession: "strong-session-", Strong: "strong-"}

func (l Level) String() string {
	switch {
	case l.Special == GeneralizedSI:
		return "generalized-snapshot-isolation"
	case l.Special == Linearizable:
		return "linearizable"
	case l.Base == 0:
		return "none"
	}
	return familyPrefix[l.Family] + l.Base.String()
}

// AllLevels lists every level, weak bases first, plain before session before
// real time.
func AllLevels() []Level {
	var ls []Level
	for _, b := range Bases() {
		for f := Plain; f <= Strong; f++ {
			ls = append(ls, Level{Base: b, Family: f})
		}
	}
	return append(ls, Level{Special: GeneralizedSI}, Level{Special: Linearizable})
}

// ParseLevel reads a level by its name, or by another one that people use for it: see [Taken].
func ParseLevel(name string) (Level, error) {
	if l, ok := named(name); ok {
		return l, nil
	}
	if l, ok := Understood(name); ok {
		return l, nil
	}
	return Level{}, noLevel(name)
}

// noLevel says what to write instead of a name that does not belong to a level.
func noLevel(name string) error {
	product, setting, one := strings.Cut(strings.TrimSpace(name), "/")
	p := productOf(product)
	switch {
	case product == "" && !one:
		return fmt.Errorf("no level is named: want one such as %s", usualLevels)
	case p != nil && one && p.meant(setting) != nil:
		x := p.meant(setting)
		return fmt.Errorf("%s/%s is a product's setting, and goes with expect (--expect %[1]s/%[2]s): among levels write what it stands for, %s", p.name, x.setting, x.level)
	case p != nil:
		return fmt.Errorf("%s is a product, and goes with expect (--expect %s): among levels write a level such as %s", p.name, p.names()[0], usualLevels)
	}
	if err := noneOf(name); err != nil {
		return err
	}
	if best := Closest(name, EveryName()); best != "" {
		return fmt.Errorf("no isolation level is called %q; did you mean %s?", name, best)
	}
	return fmt.Errorf("no isolation level is called %q; there are %s and others (monitor explain lists all)", name, usualLevels)
}

// noneOf says why a name that the field knows does not belong to a level; nil: it is another
// name.
func noneOf(name string) error {
	name = strings.TrimSpace(name)
	words := func(text string) string { return strings.ReplaceAll(strings.ToLower(text), "-", " ") }
	is := func(anomaly string) bool {
		return words(anomaly) == words(name) || words(TitleOf(anomaly)) == words(name)
	}
	switch {
	case strings.HasPrefix(strings.ToLower(name), "g-") || slices.ContainsFunc(AnomalyNames(), is):
		return fmt.Errorf("%q is an anomaly and not a level ('monitor explain %s' names levels that forbid it)", name, name)
	case strings.HasPrefix(letters(name), "eventual"):
		return errors.New("eventual consistency forbids nothing that transactions could show: there is no level for it, and read-uncommitted is the weakest one")
	}
	return nil
}

// usualLevels are those that an error names where nothing is near.
const usualLevels = "serializable, snapshot-isolation, causal, read-committed"

// EveryName are all names of levels, our own first.
func EveryName() []string {
	names := LevelNames(AllLevels())
	for i := range otherNames {
		names = append(names, otherNames[i].list()...)
	}
	return names
}

// named is the level of exactly that name.
func named(name string) (Level, bool) {
	l, ok := byName[name]
	return l, ok
}

// byName are all levels by their names. It is not changed.
var byName = func() map[string]Level {
	all := map[string]Level{}
	for _, l := range AllLevels() {
		all[l.String()] = l
	}
	return all
}()

// ParseLevels reads a comma-separated list of levels, each once in the order of its first
// mention. In it "default" stands for [Watched], "all" for [Encoded].
func ParseLevels(list string) ([]Level, error) {
	var ls []Level
	for _, name := range strings.Split(list, ",") {
		more, err := parseLevels(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		for _, l := range more {
			if !slices.Contains(ls, l) {
				ls = append(ls, l)
			}
		}
	}
	return ls, nil
}

func parseLevels(name string) ([]Level, error) {
	switch strings.ToLower(name) {
	case "default":
		return Watched(), nil
	case "all":
		return Encoded(), nil
	}
	l, err := ParseLevel(name)
	return []Level{l}, err
}

// LevelNames are the names of ls.
func LevelNames(ls []Level) []string {
	names := make([]string, len(ls))
	for i, l := range ls {
		names[i] = l.String()
	}
	return names
}

// Implies says whether every history that satisfies l satisfies m.
func (l Level) Implies(m Level) bool {
	strongSI := Level{Base: SnapshotIsolation, Family: Strong}
	switch {
	case l == m:
		return true
	case l.Special == Linearizable || l.Base == 0 && l.Special == 0:
		return false
	case m.Special == Linearizable:
		return l == Level{Base: Serializable, Family: Strong}
	case l.Special == GeneralizedSI:
		return m.Special == 0 && m.Family == Plain && SnapshotIsolation.Implies(m.Base)
	case m.Special == GeneralizedSI:
		return l.Implies(strongSI)
	}
	return l.Base.Implies(m.Base) && l.Family >= m.Family
}

// Above are the levels that fall when the levels of weakest are refuted, without these.
func Above(weakest []Level) []Level {
	var out []Level
next:
	for _, l := range AllLevels() {
		falls := false
		for _, w := range weakest {
			if l == w {
				continue next
			}
			falls = falls || l.Implies(w)
		}
		if falls {
			out = append(out, l)
		}
	}
	return out
}

// Refuted says whether l falls with one of weakest.
func (l Level) Refuted(weakest []Level) bool {
	for _, w := range weakest {
		if l.Implies(w) {
			return true
		}
	}
	return false
}

// Underlying is the base that l has without sessions and time: snapshot isolation
// for the generalized one. 0 for linearizable, which is about single keys.
func (l Level) Underlying() Base {
	if l.Special == GeneralizedSI {
		return SnapshotIsolation
	}
	return l.Base
}

// RealTime says whether l promises something about two transactions if one ended before the
// other began.
func (l Level) RealTime() bool { return l.Special != 0 || l.Family == Strong }

// Watched are the levels that are checked by default.
func Watched() []Level {
	return []Level{
		{Base: Serializable}, {Base: SnapshotIsolation},
		{Base: Serializable, Family: StrongSession}, {Base: SnapshotIsolation, Family: StrongSession},
	}
}

// Encoded are the levels that can be checked, in the order of [AllLevels].
func Encoded() []Level {
	var ls []Level
	for _, l := range AllLevels() {
		if _, ok := l.View(); ok {
			ls = append(ls, l)
		}
	}
	return ls
}

// Neighbours are for a level that is decided exactly in whole histories only. They are the
// nearest levels that streams are decided at. There l holds with the one that implies it. It
// falls with the others, or by a finding of its own. nil for other levels.
func (l Level) Neighbours() []Level {
	if l.Special != 0 || l.Family != Strong || l.Base != ReadAtomic && l.Base != Causal {
		return nil
	}
	return []Level{{Base: MonotonicAtomicView, Family: Strong}, {Base: l.Base, Family: StrongSession}, {Base: Prefix, Family: Strong}}
}

// Asked reads the level that a transaction asked for: one of our names, or an SQL name. A name
// that means different things in different products is taken as the least that any of them
// promises. 0 is for the absent and the unknown name: they promise what the source promises.
func Asked(name []byte) Base {
	if len(name) == 0 {
		return 0
	}
	switch sqlName(name) {
	case "READ UNCOMMITTED":
		return ReadUncommitted
	case "READ COMMITTED", repeatableRead, "CURSOR STABILITY":
		return ReadCommitted
	case "SNAPSHOT":
		return SnapshotIsolation
	case "SERIALIZABLE":
		return Serializable
	}
	l, x, ok := understood(string(name))
	switch {
	case !ok || x != nil && x.sense == nearest:
		return 0
	case l.Special == GeneralizedSI:
		return SnapshotIsolation
	case l.Special == Linearizable:
		return Serializable
	case l.Base.Selects() && !l.Base.Limits():
		return ReadCommitted // SQL's repeatable read, and cursors: which reads used one is not recorded
	}
	return l.Base
}

const repeatableRead = "REPEATABLE READ"

// Ambiguous says whether products mean different things by the name.
func Ambiguous(name []byte) bool {
	return sqlName(name) == repeatableRead || letters(string(name)) == "rr"
}

// sqlName is name as SQL writes it: MySQL shows its levels with hyphens.
func sqlName(name []byte) string {
	return strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToUpper(string(name)))
}
