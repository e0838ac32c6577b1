package isolation

import (
	"slices"
	"strings"
)

// sense says how far a name of others and the level that is taken for it are the same.
type sense uint8

const (
	same    sense = iota // they are
	form                 // others mean the level with session order or real time by the name, or a neighbour of it
	nearest              // what the name means is not checked: the level is the nearest one that is
)

// otherName is another field's name for a level.
type otherName struct {
	names string // as they write them, with commas between
	level string // that is taken
	sense sense
	// note says what is taken, and what else the name means; NAME stands for it. "" for the same.
	note string
}

const (
	sessionForm = "dbcop, AWDIT and Plume mean the form with session order, called strong-session-LEVEL here"
	notChecked  = "NAME is not checked by itself. It is taken as LEVEL, the nearest weaker level"
	hasItAll    = "NAME is not checked by itself. It is taken as LEVEL, a stronger level that includes it. So a finding may contradict only what LEVEL adds"
)

// otherNames are names that are not our own: SQL's, Adya's portable levels (PL-), Elle's, and
// the names of dbcop, AWDIT, Plume and MTC. A name is taken as the nearest level that its
// meaning implies. So nothing is reported that the name allows. docs/proofs.md, section 11, has
// the arguments. The guarantees of a session and one-copy serializability have no weaker level
// here. They are taken as a stronger one, and a note names it.
var otherNames = []otherName{
	{"RU, PL-1, READ UNCOMMITTED, UR, uncommitted read, degree 1", "read-uncommitted", same, ""},

	{"PL-2, READ COMMITTED, READ COMMITTED SNAPSHOT, read committed snapshot isolation, RCSI, degree 2", "read-committed", same, ""},
	{
		"RC, committed read",
		"read-committed",
		form,
		"NAME means read-committed here. dbcop, AWDIT and Plume mean a level that also orders the reads of a transaction, called strong-session-monotonic-atomic-view here",
	},
	{"cursor stability, PL-CS, CS", "cursor-stability", same, ""},
	{
		"repeatable read, RR",
		"repeatable-read",
		form,
		"NAME means Adya's PL-2.99 here. For a database's own setting name the product, as in postgresql/repeatable-read or mysql/repeatable-read",
	},
	{"PL-2.99, degree 2.9999, read stability, RS", "repeatable-read", same, ""},

	{"MAV, monotonic atomic view", "monotonic-atomic-view", same, ""},
	{"monotonic view, PL-2L", "monotonic-atomic-view", nearest, notChecked + ". consistent-view is the nearest stronger level"},
	{"monotonic snapshot read, monotonic snapshot reads, PL-MSR", "monotonic-atomic-view", nearest, notChecked + ". snapshot-isolation is the nearest stronger level"},

	{"read atomicity", "read-atomic", same, ""},
	{"RA, atomic read", "read-atomic", form, "NAME means LEVEL here. " + sessionForm},
	{
		"repeatable reads",
		"read-atomic",
		nearest,
		"NAME is taken as LEVEL, as in the paper on dbcop. Write repeatable-read for Adya's PL-2.99. For a database's own setting name the product, as in postgresql/repeatable-read",
	},
	{"update atomic, UA, ROLA", "read-atomic", nearest, notChecked + ". consistent-view is the nearest stronger level"},

	{"causal-cerone", "causal", same, ""},
	{
		"causal, CC, causal consistency, TCC, transactional causal consistency, causal convergence, CCv",
		"causal",
		form,
		"NAME means causal without session order here. " + sessionForm,
	},
	{"PL-2+, consistent view", "consistent-view", same, ""},
	{
		"parallel snapshot isolation, PSI",
		"consistent-view",
		form,
		"NAME means LEVEL here, as in Elle's levels. The papers on it (Sovran et al., SOSP 2011; Cerone et al., CONCUR 2015) mean the form with session order, called strong-session-consistent-view here",
	},
	{"forward consistent view, PL-FCV", "consistent-view", nearest, notChecked + ". snapshot-isolation is the nearest stronger level"},
	{"PL-3U, update serializable, update serializability", "update-serializable", same, ""},
	{"non-monotonic snapshot isolation, NMSI", "consistent-view", nearest, notChecked + ". snapshot-isolation is the nearest stronger level"},

	{"prefix consistency, consistent prefix", "prefix", same, ""},
	{"PC", "prefix", form, "NAME means LEVEL here. " + sessionForm},

	{"snapshot isolation, SNAPSHOT, Adya SI, weak SI, weak snapshot isolation", "snapshot-isolation", same, ""},
	{"SI", "snapshot-isolation", form, "NAME means LEVEL here. " + sessionForm},
	{"PL-SI", "snapshot-isolation", form, "NAME means LEVEL here. Adya's thesis means the form in real time, called strong-snapshot-isolation here"},
	{"PCSI, prefix-consistent snapshot isolation", "strong-session-snapshot-isolation", same, ""},
	{"conventional snapshot isolation, CSI", "strong-snapshot-isolation", same, ""},

	{"PL-3, serializability, conflict-serializable, conflict serializability, SERIALIZABLE, serializable snapshot isolation, SSI, degree 3", "serializable", same, ""},
	{"SER", "serializable", form, "NAME means LEVEL here. " + sessionForm},
	{
		"1SR, one-copy serializable, one-copy serializability, view-serializable, view serializability",
		"serializable",
		nearest,
		"NAME is not checked by itself. It is taken as LEVEL, which is a little stronger: it also orders the writes that nobody read",
	},
	{"session 1SR, strong session 1SR", "strong-session-serializable", same, ""},
	{"sequential, sequential consistency", "strong-session-serializable", nearest, "NAME is taken as LEVEL, its form for transactions"},
	{"strict serializable, strict serializability, SSER, PL-SS, external consistency, strong 1SR", "strong-serializable", same, ""},

	{"GSI, generalized snapshot isolation", "generalized-snapshot-isolation", same, ""},
	{"LIN, linearizability, atomic register, atomic consistency", "linearizable", same, ""},

	{"read your writes, RYW, read-my-writes", "strong-session-read-atomic", nearest, hasItAll},
	{"monotonic reads, MR, monotonic writes, MW, writes follow reads, WFR, PRAM, session guarantees", "strong-session-causal", nearest, hasItAll},
}

// OtherNames are the names that mean exactly l, as people write them.
func OtherNames(l Level) []string {
	var names []string
	for i := range otherNames {
		if x := &otherNames[i]; x.sense != nearest && x.level == l.String() {
			names = append(names, x.list()...)
		}
	}
	return names
}

// NearestNames are the names of what is not checked by itself, and is taken as l.
func NearestNames(l Level) []string {
	var names []string
	for i := range otherNames {
		if x := &otherNames[i]; x.sense == nearest && x.level == l.String() {
			names = append(names, x.list()...)
		}
	}
	return names
}

func (x *otherName) list() []string { return strings.Split(x.names, ", ") }

// Understood is the level that a name stands for: its own, or one that others have for it. false:
// nobody calls a level so.
func Understood(name string) (Level, bool) {
	l, _, ok := understood(name)
	return l, ok
}

// Taken says which level is taken for some names. Such a name means one thing here and another
// to other people, or is not checked by itself. "" for other names.
func Taken(name string) string {
	l, x, ok := understood(name)
	if !ok || x == nil {
		return ""
	}
	return strings.NewReplacer("NAME", strings.TrimSpace(name), "LEVEL", l.String()).Replace(x.note)
}

// understood is the level, and what others mean by the name; nil: only the level's own.
func understood(name string) (Level, *otherName, bool) {
	key := letters(name)
	if x := called(key); x != nil {
		l, _ := named(x.level)
		return l, x, true
	}
	if l, ok := spelled(key); ok {
		return l, nil, true
	}
	for _, family := range []struct{ prefix, ours string }{{"strongsession", "strong-session-"}, {"session", "strong-session-"}, {"strong", "strong-"}, {"strict", "strong-"}} {
		rest, ok := strings.CutPrefix(key, family.prefix)
		if !ok {
			continue
		}
		base, ok := spelled(rest)
		if x := called(rest); x != nil && x.sense != nearest {
			base, ok = named(x.level)
		}
		if l, known := named(family.ours + base.String()); ok && known {
			return l, nil, true
		}
	}
	return Level{}, nil, false
}

// called is the entry with a name of these letters.
func called(key string) *otherName {
	for i := range otherNames {
		if slices.ContainsFunc(otherNames[i].list(), func(n string) bool { return letters(n) == key }) {
			return &otherNames[i]
		}
	}
	return nil
}

// spelled is the level whose own name has these letters.
func spelled(key string) (Level, bool) {
	for _, l := range AllLevels() {
		if letters(l.String()) == key {
			return l, true
		}
	}
	return Level{}, false
}

// letters is a name without its variants of spelling: capitals, the joints of words, British
// spelling. A name with "G-" in front is an anomaly, and stays apart: G-SI is not GSI.
func letters(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if strings.HasPrefix(name, "g-") {
		return name
	}
	return plainSpelling.Replace(name)
}

var plainSpelling = strings.NewReplacer("isab", "izab", "generalised", "generalized", "_", "", " ", "", "-", "")
