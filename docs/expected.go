package docs

import (
	"slices"
	"strings"

	"github.com/isowatch/isowatch/internal/isolation"
)

// Expected is the expectation of the database that a finding is about. The zero value: nothing
// is.
type Expected struct {
	Setting string          // of a product, such as postgresql/repeatable-read; "": only a level is expected
	Level   isolation.Level // what Setting stands for
	Allowed bool            // the expected level allows this finding, or its transactions asked for less
}

// setting is the product and its setting, and whether one is expected.
func (e Expected) setting() (isolation.Setting, bool) {
	product, name, _ := strings.Cut(e.Setting, "/")
	for _, s := range isolation.Settings(product) {
		if product != "" && s.Name == name {
			return s, true
		}
	}
	return isolation.Setting{}, false
}

// occurrence is an anomaly where something is expected.
type occurrence struct {
	anomaly string
	Expected
}

// stance is the expected level's stance on an anomaly.
type stance int

const (
	silent  stance = iota // the anomaly is about no level, or nothing is expected
	forbids               // the level forbids it
	allows                // the level allows it
	lowered               // the level forbids it, and the transactions had asked for less
)

func (o occurrence) stance() stance {
	switch {
	case !isolation.RefutesLevels(o.anomaly) || o.Level == isolation.Level{}:
		return silent
	case !o.Allowed:
		return forbids
	case o.Level.Forbids(o.anomaly) == isolation.Ruled:
		return lowered
	}
	return allows
}

// replicas ends the name of a setting that is about clients which also read replicas.
const replicas = "-with-replicas"

// weaker are the settings of the product, of one server, that promise less than the expected one
// and do not rule the anomaly out.
func (o occurrence) weaker(of isolation.Setting) []string {
	var names []string
	for _, s := range isolation.Settings(of.Product) {
		less := o.Level.Implies(s.Level) && s.Level != o.Level
		if less && s.Level.Forbids(o.anomaly) != isolation.Ruled && !strings.HasSuffix(s.Name, replicas) {
			names = append(names, s.String())
		}
	}
	return names
}

// mend is the weakest setting of the product that forbids the anomaly: the setting of the same
// name without replicas, if it does. false: none does.
func (o occurrence) mend(of isolation.Setting) (isolation.Setting, bool) {
	ofKeys := o.Level == isolation.Level{Special: isolation.Linearizable} // mended by transactions only
	settings := slices.DeleteFunc(isolation.Settings(of.Product), func(s isolation.Setting) bool {
		return strings.HasSuffix(s.Name, replicas) || s.Level.Forbids(o.anomaly) != isolation.Ruled || ofKeys && !s.Level.Underlying().Implies(isolation.SnapshotIsolation)
	})
	if len(settings) == 0 {
		return isolation.Setting{}, false
	}
	same := slices.IndexFunc(settings, func(s isolation.Setting) bool { return s.Name+replicas == of.Name })
	return settings[max(same, 0)], true
}

// Mends are the weakest setting of each product that forbids the anomaly.
func Mends(anomaly string) []string {
	var names []string
	last := ""
	for _, s := range isolation.Settings("") {
		if s.Product == last {
			continue
		}
		last = s.Product
		if m, ok := (occurrence{anomaly: anomaly}).mend(s); ok {
			names = append(names, m.String())
		}
	}
	return names
}

// least is the weakest level that forbids the anomaly and promises all that is expected. false:
// there is none.
func (o occurrence) least() (isolation.Level, bool) {
	var least isolation.Level
	for _, l := range isolation.AllLevels() {
		if l.Underlying().Selects() {
			continue // no setting of a product is known to promise just that
		}
		enough := l.Forbids(o.anomaly) == isolation.Ruled && (o.Level == isolation.Level{} || l.Implies(o.Level))
		if enough && (least == isolation.Level{} || least.Implies(l)) {
			least = l
		}
	}
	return least, least != isolation.Level{}
}
