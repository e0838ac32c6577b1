package isolation

import (
	"fmt"
	"slices"
	"strings"
)

// promise is a product's promise at one of its settings.
type promise struct {
	setting string
	level   Level
	rules   Rules
}

// Rules are the rules of a setting beyond its level.
type Rules struct {
	// Rows: the level is about rows, and not about keys. A deleted row and a row inserted at
	// its key are two. In PostgreSQL's repeatable read, a transaction that read the first may
	// insert the second (INSERT ... ON CONFLICT DO UPDATE). It has not lost an update then.
	Rows bool
	// Tracked: conflicts are found among those that asked for serializable only. An
	// anti-dependency on one that asked for less does not count at the level.
	Tracked bool
}

// product is a database by name.
type product struct {
	name     string
	others   []string // that people call it
	settings []promise
}

// products lists the settings that `expect` knows by name, without promises of some deployments
// only. Reads of replicas must be marked stale or get a source of their own, unless the setting
// names them. docs/proofs.md, section 12, has the same table. It says why each setting stands
// for its level, and which versions are known to break it.
var products = []product{
	{"postgresql", []string{"postgres", "pg", "pgsql", "psql"}, []promise{
		{"read-uncommitted", session(ReadCommitted), Rules{}}, {"read-committed", session(ReadCommitted), Rules{}},
		{"repeatable-read", session(SnapshotIsolation), Rules{Rows: true}}, {"serializable", session(Serializable), Rules{Tracked: true}},
		// Reads of replicas are judged beside reads of the primary. Together they promise a
		// level between causal and snapshot isolation: parallel snapshot isolation, which is
		// not checked here.
		{"read-committed-with-replicas", plain(ReadCommitted), Rules{}},
		{"repeatable-read-with-replicas", plain(Causal), Rules{Rows: true}}, {"serializable-with-replicas", plain(Causal), Rules{}},
	}},
	{"mysql", nil, []promise{
		{"read-uncommitted", session(ReadUncommitted), Rules{}}, {"read-committed", session(ReadCommitted), Rules{}},
		{"repeatable-read", session(ReadCommitted), Rules{}}, {"serializable", session(Serializable), Rules{}},
	}},
	{"mariadb", []string{"maria"}, []promise{
		{"read-uncommitted", session(ReadUncommitted), Rules{}}, {"read-committed", session(ReadCommitted), Rules{}},
		{"repeatable-read", session(ReadCommitted), Rules{}}, {"snapshot-isolation", session(SnapshotIsolation), Rules{}},
		{"serializable", session(Serializable), Rules{}},
	}},
	{"sqlite", []string{"sqlite3"}, []promise{
		{"read-uncommitted", session(ReadUncommitted), Rules{}}, {"serializable", session(Serializable), Rules{}},
	}},
	{"cockroachdb", []string{"cockroach", "crdb"}, []promise{
		{"read-committed", plain(ReadCommitted), Rules{}}, {"serializable", plain(Serializable), Rules{}},
	}},
	{"yugabytedb", []string{"yugabyte"}, []promise{
		{"read-committed", plain(ReadCommitted), Rules{}}, {"repeatable-read", plain(SnapshotIsolation), Rules{}},
		{"serializable", plain(Serializable), Rules{}},
	}},
	{"tidb", nil, []promise{
		{"read-committed", session(ReadCommitted), Rules{}}, {"repeatable-read", session(ReadCommitted), Rules{}},
		{"optimistic", session(SnapshotIsolation), Rules{}},
	}},
	{"mongodb", []string{"mongo"}, []promise{
		{"local", plain(ReadUncommitted), Rules{}}, {"majority", plain(ReadCommitted), Rules{}},
		{"causal", session(Causal), Rules{}}, {"snapshot", plain(SnapshotIsolation), Rules{}},
		{"linearizable", Level{Special: Linearizable}, Rules{}},
	}},
	{"spanner", nil, []promise{
		{"repeatable-read", Level{Base: SnapshotIsolation, Family: Strong}, Rules{}},
		{"serializable", Level{Base: Serializable, Family: Strong}, Rules{}},
	}},
	{"cassandra", nil, []promise{
		{"lwt", Level{Special: Linearizable}, Rules{}}, {"quorum", plain(ReadUncommitted), Rules{}},
	}},
	{"etcd", nil, []promise{
		{"serializable", plain(Serializable), Rules{}}, {"linearizable", Level{Base: Serializable, Family: Strong}, Rules{}},
	}},
}

// RulesOf are the rules of the setting, as in postgresql/repeatable-read. A level has no rules.
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

// ParseExpected reads what a database is expected to keep: a level, or a product and its
// setting, as in postgresql/repeatable-read or "mysql/READ COMMITTED". setting is then that in our spelling,
// and "" for a level.
func ParseExpected(text string) (l Level, setting string, err error) {
	text = strings.TrimSpace(text)
	name, at, one := strings.Cut(text, "/")
	p := productOf(name)
	switch {
	case text == "":
		return l, "", fmt.Errorf("no level is named: want one such as %s, or a product's setting such as postgresql/repeatable-read", usualLevels)
	case strings.Contains(text, ","):
		return l, "", fmt.Errorf("%q names more than one level: name the one that is expected", text)
	case p != nil && strings.TrimSpace(at) == "":
		return l, "", fmt.Errorf("%s promises different things at its settings: name one of %s", p.name, firstOf(p.names(), p.name))
	case p == nil && one:
		return l, "", noProduct(name)
	case p == nil:
		return parsePlain(text)
	}
	if x := p.meant(at); x != nil {
		return x.level, p.name + "/" + x.setting, nil
	}
	return l, "", fmt.Errorf("%s has no setting %q; %s", p.name, at, p.nearSetting(at))
}

// nearSetting is the setting that was meant, or those that there are. Only the setting's own letters count: the product's
// would make any two look alike.
func (p *product) nearSetting(at string) string {
	var settings []string
	for _, s := range p.settings {
		settings = append(settings, s.setting)
	}
	if best := Closest(settingName(at), settings); best != "" {
		return fmt.Sprintf("did you mean %s/%s?", p.name, best)
	}
	return "those known are " + firstOf(p.names(), p.name)
}

// parsePlain reads a level; a name that is none may be one of a product.
func parsePlain(text string) (Level, string, error) {
	l, ok := Understood(text)
	switch {
	case ok:
		return l, "", nil
	case Elsewhere(text) != nil:
		return l, "", Elsewhere(text)
	case noneOf(text) != nil:
		return l, "", noneOf(text)
	}
	if best := Closest(text, slices.Concat(EveryName(), ProductNames())); best != "" {
		return l, "", fmt.Errorf("no isolation level or product is called %q; did you mean %s?", text, best)
	}
	return l, "", fmt.Errorf("no isolation level or product is called %q; there are %s, postgresql/repeatable-read and others (monitor explain lists all)", text, usualLevels)
}

// elsewhere says of products without settings here what to name instead.
var elsewhere = map[string]string{
	"oracle":    "its SERIALIZABLE is snapshot isolation: name the level snapshot-isolation",
	"sqlserver": sqlServer, "mssql": sqlServer, "sql server": sqlServer,
	"rds": managed, "aurora": managed, "cloudsql": managed,
	"db2": "its repeatable read is serializable, and its cursor stability is read-committed: name that level",
}

const sqlServer = "its SNAPSHOT is snapshot-isolation, its READ COMMITTED is read-committed, and its SERIALIZABLE is serializable: name that level"

const managed = "it runs PostgreSQL, MySQL or another product: name that product, as in postgresql/repeatable-read"

// Elsewhere says what to name instead of a product that has no settings here; nil: it has some, or is not
// known at all.
func Elsewhere(name string) error {
	if why := elsewhere[strings.ToLower(strings.TrimSpace(name))]; why != "" {
		return fmt.Errorf("%s has no settings here, and %s. Products with settings are %s", name, why, firstOf(productNames(), ""))
	}
	return nil
}

func noProduct(name string) error {
	if err := Elsewhere(name); err != nil {
		return err
	}
	if best := Closest(name, ProductNames()); best != "" {
		return fmt.Errorf("no product is called %q; did you mean %s?", name, productName(best))
	}
	return fmt.Errorf("no product is called %q; those known are %s. A level can be named instead, such as snapshot-isolation", name, firstOf(productNames(), ""))
}

// ProductNames are all that products are called here.
func ProductNames() []string {
	names := productNames()
	for _, p := range products {
		names = append(names, p.others...)
	}
	return names
}

func productNames() []string {
	var names []string
	for i := range products {
		names = append(names, products[i].name)
	}
	return names
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

// productName is the product that people call so.
func productName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, p := range products {
		if slices.Contains(p.others, name) {
			return p.name
		}
	}
	return name
}

func productOf(name string) *product {
	name = productName(name)
	i := slices.IndexFunc(products, func(p product) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &products[i]
}

// meant is the setting that people write so: in SQL's words, in other letters, or abbreviated.
func (p *product) meant(setting string) *promise {
	name := settingName(setting)
	if x := p.find(name); x != nil {
		return x
	}
	switch name {
	case "ru":
		name = "read-uncommitted"
	case "rc":
		name = "read-committed"
	case "rr":
		name = "repeatable-read"
	case "ser", "s":
		name = "serializable"
	case "snapshot":
		name = "snapshot-isolation"
	case "si", "snapshot-isolation":
		if name = "snapshot"; p.find(name) == nil {
			name = "snapshot-isolation"
		}
	}
	return p.find(name)
}

// settingName is a setting in SQL's words as it is named here.
func settingName(words string) string {
	return strings.NewReplacer(" ", "-", "_", "-", "isab", "izab").Replace(strings.ToLower(strings.TrimSpace(words)))
}

// at is the product's promise at the setting.
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

// AskedOf is [Asked] where the product is known: an SQL name means what it means there. ""
// stands for no product.
func AskedOf(product string, name []byte) Base {
	if p := productOf(product); p != nil && len(name) > 0 {
		setting := strings.ReplaceAll(strings.ToLower(sqlName(name)), " ", "-")
		if l, ok := p.at(setting); ok && l.Special == 0 {
			return l.Base
		}
	}
	return Asked(name)
}

// IsAsked says whether the name, in the words of any product, stands for a level that a transaction can ask for.
func IsAsked(name []byte) bool {
	return Asked(name) != 0 || slices.ContainsFunc(products, func(p product) bool { return AskedOf(p.name, name) != 0 })
}
