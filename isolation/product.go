package isolation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// promise is what a product promises at one of its settings.
type promise struct {
	setting string
	level   Level
	rules   Rules
}

// Rules are what a setting means beyond its level.
type Rules struct {
	// Rows: a row, and not its key, is what the level is about: a row that was deleted and
	// one that was inserted at its key are two. PostgreSQL's repeatable read lets a
	// transaction that read the first insert the second (INSERT ... ON CONFLICT DO UPDATE),
	// and what it read of the first is then no update that it lost.
	Rows bool
	// Tracked: conflicts are found among those that asked for serializable only. An
	// anti-dependency on one that asked for less is none of the level's.
	Tracked bool
}

// product is a database by name.
type product struct {
	name     string
	settings []promise
}

// products lists what `expect` knows by name, without what only some deployments
// promise: reads of replicas are to be marked stale or get a source of their own, unless
// the setting names them.
// docs/proofs.md, section 12, has the same table, and says why each setting stands
// for its level, and where versions are known to break it.
var products = []product{
	{"postgresql", []promise{
		{"read-uncommitted", session(ReadCommitted), Rules{}}, {"read-committed", session(ReadCommitted), Rules{}},
		{"repeatable-read", session(SnapshotIsolation), Rules{Rows: true}}, {"serializable", session(Serializable), Rules{Tracked: true}},
		// Reads of replicas are judged beside those of the primary. What they promise together lies
		// between causal and snapshot isolation: parallel snapshot isolation, which is no level here.
		{"read-committed-with-replicas", plain(ReadCommitted), Rules{}},
		{"repeatable-read-with-replicas", plain(Causal), Rules{Rows: true}}, {"serializable-with-replicas", plain(Causal), Rules{}},
	}},
	{"mysql", []promise{
		{"read-uncommitted", session(ReadUncommitted), Rules{}}, {"read-committed", session(ReadCommitted), Rules{}},
		{"repeatable-read", session(ReadCommitted), Rules{}}, {"serializable", session(Serializable), Rules{}},
	}},
	{"mariadb", []promise{
		{"read-uncommitted", session(ReadUncommitted), Rules{}}, {"read-committed", session(ReadCommitted), Rules{}},
		{"repeatable-read", session(ReadCommitted), Rules{}}, {"snapshot-isolation", session(SnapshotIsolation), Rules{}},
		{"serializable", session(Serializable), Rules{}},
	}},
	{"sqlite", []promise{
		{"read-uncommitted", session(ReadUncommitted), Rules{}}, {"serializable", session(Serializable), Rules{}},
	}},
	{"cockroachdb", []promise{
		{"read-committed", plain(ReadCommitted), Rules{}}, {"serializable", plain(Serializable), Rules{}},
	}},
	{"yugabytedb", []promise{
		{"read-committed", plain(ReadCommitted), Rules{}}, {"repeatable-read", plain(SnapshotIsolation), Rules{}},
		{"serializable", plain(Serializable), Rules{}},
	}},
	{"tidb", []promise{
		{"read-committed", session(ReadCommitted), Rules{}}, {"repeatable-read", session(ReadCommitted), Rules{}},
		{"optimistic", session(SnapshotIsolation), Rules{}},
	}},
	{"mongodb", []promise{
		{"local", plain(ReadUncommitted), Rules{}}, {"majority", plain(ReadCommitted), Rules{}},
		{"causal", session(Causal), Rules{}}, {"snapshot", plain(SnapshotIsolation), Rules{}},
		{"linearizable", Level{Special: Linearizable}, Rules{}},
	}},
	{"spanner", []promise{
		{"repeatable-read", Level{Base: SnapshotIsolation, Family: Strong}, Rules{}},
		{"serializable", Level{Base: Serializable, Family: Strong}, Rules{}},
	}},
	{"cassandra", []promise{
		{"lwt", Level{Special: Linearizable}, Rules{}}, {"quorum", plain(ReadUncommitted), Rules{}},
	}},
	{"etcd", []promise{
		{"serializable", plain(Serializable), Rules{}}, {"linearizable", Level{Base: Serializable, Family: Strong}, Rules{}},
	}},
}

// RulesOf are those of the setting, as in postgresql/repeatable-read; none of a level.
func RulesOf(expected string) Rules {
	name, setting, _ := strings.Cut(expected, "/")
	if p := productOf(name); p != nil {
		if x := p.find(setting); x != nil {
			return x.rules
		}
	}
	return Rules{}
}

func plain(b Base) Level   { return Level{Base: b} }
func session(b Base) Level { return Level{Base: b, Family: StrongSession} }

// ParseExpected reads what a database is expected to keep: a level, or a product
// and its setting (`postgresql/repeatable-read`), which then is the product's name
// as well.
func ParseExpected(text string) (l Level, product string, err error) {
	name, setting, named := strings.Cut(text, "/")
	p := productOf(name)
	switch {
	case !named && p != nil:
		return l, "", fmt.Errorf("%s promises different things at its settings: name one of %s", p.name, firstOf(p.names(), p.name))
	case !named:
		if best := Closest(text, productNames()); best != "" {
			return l, "", fmt.Errorf("no isolation level or product is called %q; did you mean %s?", text, best)
		}
		l, err = ParseLevel(text)
		return l, "", err
	case p == nil:
		if why := Otherwise(text); why != "" {
			return l, "", errors.New(why)
		}
		return l, "", fmt.Errorf("no product is called %q; %s", name, known(name, productNames(), ""))
	}
	if l, ok := p.at(setting); ok {
		return l, p.name, nil
	}
	return l, "", fmt.Errorf("%s has no setting %q; %s", p.name, setting, known(p.name+"/"+setting, p.names(), p.name))
}

func productNames() []string {
	var names []string
	for i := range products {
		names = append(names, products[i].name)
	}
	return names
}

// known is the name that was meant, or those that there are; page lists them.
func known(name string, names []string, page string) string {
	if best := Closest(name, names); best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "those known are " + firstOf(names, page)
}

// firstOf are five of the names at most, and where the others are.
func firstOf(names []string, page string) string {
	if len(names) <= 5 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and others (%s lists all)", strings.Join(names[:5], ", "), strings.TrimSpace("monitor explain "+page))
}

// names are the product's settings as --expect takes them.
func (p *product) names() []string {
	var names []string
	for _, s := range p.settings {
		names = append(names, p.name+"/"+s.setting)
	}
	return names
}

// otherNames are what people call products.
func otherNames(name string) string {
	switch name = strings.ToLower(name); name {
	case "postgres", "pg", "pgsql":
		return "postgresql"
	case "maria":
		return "mariadb"
	case "cockroach", "crdb":
		return "cockroachdb"
	case "yugabyte":
		return "yugabytedb"
	case "mongo":
		return "mongodb"
	case "sqlite3":
		return "sqlite"
	}
	return name
}

func productOf(name string) *product {
	name = otherNames(name)
	i := slices.IndexFunc(products, func(p product) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &products[i]
}

// at is what the product promises at the setting.
func (p *product) at(setting string) (Level, bool) {
	if x := p.find(setting); x != nil {
		return x.level, true
	}
	return Level{}, false
}

func (p *product) find(setting string) *promise {
	i := slices.IndexFunc(p.settings, func(x promise) bool { return x.setting == setting })
	if i < 0 {
		return nil
	}
	return &p.settings[i]
}

// AskedOf is [Asked] where the product is known: an SQL name means what it means
// there. "" is no product.
func AskedOf(product string, name []byte) Base {
	if p := productOf(product); p != nil && len(name) > 0 {
		setting := strings.ReplaceAll(strings.ToLower(sqlName(name)), " ", "-")
		if l, ok := p.at(setting); ok && l.Special == 0 {
			return l.Base
		}
	}
	return Asked(name)
}
