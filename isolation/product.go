package isolation

import (
	"fmt"
	"slices"
	"strings"
)

// promise is what a product promises at one of its settings.
type promise struct {
	setting string
	level   Level
}

// product is a database by name. docs/semantics.md, section 11, says why each
// setting stands for its level.
type product struct {
	name     string
	settings []promise
}

// products lists what `expect` knows by name, without what only some deployments
// promise: reads of replicas are to be marked stale or get a source of their own.
var products = []product{
	{"postgresql", []promise{
		{"read-uncommitted", session(ReadCommitted)}, {"read-committed", session(ReadCommitted)},
		{"repeatable-read", session(SnapshotIsolation)}, {"serializable", session(Serializable)},
	}},
	{"mysql", []promise{
		{"read-uncommitted", session(ReadUncommitted)}, {"read-committed", session(ReadCommitted)},
		{"repeatable-read", session(ReadCommitted)}, {"serializable", session(Serializable)},
	}},
	{"mariadb", []promise{
		{"read-uncommitted", session(ReadUncommitted)}, {"read-committed", session(ReadCommitted)},
		{"repeatable-read", session(ReadCommitted)}, {"snapshot-isolation", session(SnapshotIsolation)},
		{"serializable", session(Serializable)},
	}},
	{"cockroachdb", []promise{
		{"read-committed", plain(ReadCommitted)}, {"serializable", plain(Serializable)},
	}},
	{"yugabytedb", []promise{
		{"read-committed", plain(ReadCommitted)}, {"repeatable-read", plain(SnapshotIsolation)},
		{"serializable", plain(Serializable)},
	}},
	{"tidb", []promise{
		{"read-committed", session(ReadCommitted)}, {"repeatable-read", session(ReadCommitted)},
		{"optimistic", session(SnapshotIsolation)},
	}},
	{"mongodb", []promise{
		{"local", plain(ReadUncommitted)}, {"majority", plain(ReadCommitted)},
		{"causal", session(Causal)}, {"snapshot", plain(SnapshotIsolation)},
		{"linearizable", Level{Special: Linearizable}},
	}},
	{"spanner", []promise{
		{"repeatable-read", Level{Base: SnapshotIsolation, Family: Strong}},
		{"serializable", Level{Base: Serializable, Family: Strong}},
	}},
	{"cassandra", []promise{
		{"lwt", Level{Special: Linearizable}}, {"quorum", plain(ReadUncommitted)},
	}},
	{"etcd", []promise{
		{"serializable", plain(Serializable)}, {"linearizable", Level{Base: Serializable, Family: Strong}},
	}},
}

// rowSettings are those under which a row, and not its key, is what a level is about: a row that
// was deleted and one that was inserted at its key are two. PostgreSQL's repeatable read lets a
// transaction that read the first insert the second (INSERT ... ON CONFLICT DO UPDATE), and what
// it read of the first is then no update that it lost.
var rowSettings = []string{"postgresql/repeatable-read"}

// TellsRows says whether under the setting, as in postgresql/repeatable-read, a row is not its key.
func TellsRows(setting string) bool { return slices.Contains(rowSettings, setting) }

func plain(b Base) Level   { return Level{Base: b} }
func session(b Base) Level { return Level{Base: b, Family: StrongSession} }

// ParseExpected reads what a database is expected to keep: a level, or a product
// and its setting (`postgresql/repeatable-read`), which then is the product's name
// as well.
func ParseExpected(text string) (l Level, product string, err error) {
	name, setting, named := strings.Cut(text, "/")
	if !named {
		l, err = ParseLevel(text)
		return l, "", err
	}
	p := productOf(name)
	if p == nil {
		var known []string
		for i := range products {
			known = append(known, products[i].name)
		}
		return l, "", fmt.Errorf("no product is called %q; those known are %s", name, strings.Join(known, ", "))
	}
	if l, ok := p.at(setting); ok {
		return l, p.name, nil
	}
	var known []string
	for _, s := range p.settings {
		known = append(known, p.name+"/"+s.setting)
	}
	return l, "", fmt.Errorf("%s has no setting %q; those known are %s", p.name, setting, strings.Join(known, ", "))
}

func productOf(name string) *product {
	i := slices.IndexFunc(products, func(p product) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &products[i]
}

// at is what the product promises at the setting.
func (p *product) at(setting string) (Level, bool) {
	for _, s := range p.settings {
		if s.setting == setting {
			return s.level, true
		}
	}
	return Level{}, false
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
