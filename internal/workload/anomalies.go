package workload

// The four levels that a planted anomaly is judged against, as the command line
// spells them.
const (
	LevelSerializable        = "serializable"
	LevelSnapshot            = "snapshot-isolation"
	LevelSessionSerializable = "strong-session-serializable"
	LevelSessionSnapshot     = "strong-session-snapshot-isolation"
)

// template is an anomaly in its smallest form, once per kind of object. The
// empty text means that the kind cannot show it.
type template struct {
	name     string // the plain name
	anomaly  string // Elle's name of the most serious thing to be found
	scope    scope
	register string
	list     string
}

// scope is which of the four levels an anomaly refutes.
type scope uint8

const (
	allLevels    scope = iota
	onlySER            // the serializable levels
	onlySessions       // the strong-session levels
)

func (s scope) levels() []string {
	switch s {
	case onlySER:
		return []string{LevelSerializable, LevelSessionSerializable}
	case onlySessions:
		return []string{LevelSessionSerializable, LevelSessionSnapshot}
	default:
		return []string{LevelSerializable, LevelSnapshot, LevelSessionSerializable, LevelSessionSnapshot}
	}
}

// templates are the anomalies of MTC's figure 5 and of Elle's section 6, with
// Adya's G0, G1 and G-single. Every transaction stands in a session of its own
// unless the anomaly is about sessions. Order matters: plants take turns in it.
func templates() []template {
	return []template{
		{"lost-update", "lost-update", allLevels, `
txn 1: read x nil, write x 1
txn 2: read x 1, write x 2
txn 3: read x 1, write x 3`, `
txn 1: append x 1
txn 2: read x [1], append x 2
txn 3: read x [1], append x 3`},
		{"write-skew", "G2-item", onlySER, `
txn 1: read x nil, read y nil, write x 1
txn 2: read x nil, read y nil, write y 2`, `
txn 1: read y [], append x 1
txn 2: read x [], append y 2`},
		{"long-fork", "G-nonadjacent-item", allLevels, `
txn 1: read x nil, write x 1
txn 2: read y nil, write y 2
txn 3: read x 1, read y nil
txn 4: read x nil, read y 2`, `
txn 1: append x 1
txn 2: append y 2
txn 3: read x [1], read y []
txn 4: read x [], read y [2]`},
		{"aborted-read", "G1a", allLevels, `
txn 1 status=aborted: read x nil, write x 1
txn 2: read x 1`, `
txn 1 status=aborted: append x 1
txn 2: read x [1]`},
		{"stale-session-read", "G-single-item-process", onlySessions, `
txn 1 session=a: read x nil, write x 1
txn 2 session=a: read x nil`, `
txn 1 session=a: append x 1
txn 2 session=a: read x []`},
		{"intermediate-read", "G1b", allLevels, `
txn 1: read x nil, write x 1, write x 2
txn 2: read x 1`, `
txn 1: append x 1, append x 2
txn 2: read x [1]`},
		{"dirty-write", "G0", allLevels, ``, `
txn 1: append x 1, append y 1
txn 2: append x 2, append y 2
txn 3: read x [1,2], read y [2,1]`},
		{"circular-information-flow", "G1c", allLevels, `
txn 1: read x nil, write x 1, read y 2
txn 2: read y nil, write y 2, read x 1`, `
txn 1: append x 1, read y [2]
txn 2: append y 2, read x [1]`},
		{"read-skew", "G-single-item", allLevels, `
txn 1: read x nil, read y nil, write x 1, write y 2
txn 2: read x 1, read y 2, write x 3, write y 4
txn 3: read x 1, read y 4`, `
txn 1: append x 1, append y 2
txn 2: append x 3, append y 4
txn 3: read x [1], read y [2,4]
txn 4: read x [1,3]`},
		{"fractured-read", "G-single-item", allLevels, `
txn 1: read x nil, read y nil, write x 1, write y 2
txn 2: read x 1, read y nil`, `
txn 1: append x 1, append y 2
txn 2: read x [1], read y []`},
		{"causality-violation", "G-single-item", allLevels, `
txn 1: read x nil, write x 1
txn 2: read x 1, read y nil, write y 2
txn 3: read y 2, read x nil`, `
txn 1: append x 1
txn 2: read x [1], append y 2
txn 3: read y [2], read x []`},
		{"dirty-update", "dirty-update", allLevels, ``, `
txn 1 status=aborted: append x 1
txn 2: append x 2
txn 3: read x [1,2]`},
		{"duplicate-elements", "duplicate-elements", allLevels, ``, `
txn 1: append x 1
txn 2: read x [1,1]`},
		{"incompatible-order", "incompatible-order", allLevels, ``, `
txn 1: append x 1
txn 2: append x 2
txn 3: read x [1,2]
txn 4: read x [2,1]`},
		{"internal-misread", "internal", allLevels, `
txn 1: read x nil, write x 1
txn 2: read x 1, write x 2, read x 1`, `
txn 1: append x 1
txn 2: append x 2, read x [1]`},
		{"garbage-read", "garbage-read", allLevels, `
txn 1: read x 1`, `
txn 1: read x [1]`},
		{"future-read", "future-read", allLevels, `
txn 1: read x 1, write x 1`, `
txn 1: read x [1], append x 1`},
	}
}

// Anomalies are the names that [Config.Plant] accepts for kind, in the order
// of planting.
func Anomalies(kind Kind) []string {
	var names []string
	for _, t := range templates() {
		if t.text(kind) != "" {
			names = append(names, t.name)
		}
	}
	return names
}

func templateOf(kind Kind, name string) (template, bool) {
	for _, t := range append(templates(), moreTemplates()...) {
		if t.name == name && t.text(kind) != "" {
			return t, true
		}
	}
	return template{}, false
}

func (t template) text(kind Kind) string {
	if kind == Lists {
		return t.list
	}
	return t.register
}
