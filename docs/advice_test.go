package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
)

// expecting returns what a user expects who names it with --expect.
func expecting(t *testing.T, name, anomaly string) Expected {
	t.Helper()
	if name == "" {
		return Expected{}
	}
	l, product, err := isolation.ParseExpected(name)
	if err != nil {
		t.Fatal(err)
	}
	e := Expected{Level: l, Allowed: l.Forbids(anomaly) == isolation.Allowed}
	if product != "" {
		e.Setting = name
	}
	return e
}

// The causes that a finding names are those of the product and its setting.
func TestAdviceOn(t *testing.T) {
	for _, c := range []struct {
		anomaly, expect string
		first           string // the likeliest cause begins with it
		step            string // some step begins with it
		without         string // nothing holds it
	}{
		{"lost-update", "postgresql/read-committed", "postgresql/read-committed allows it. So the database is not at fault", "If the application needs it kept out, use postgresql/repeatable-read, and retry", "MySQL"},
		{"lost-update", "postgres/read-committed", "postgresql/read-committed allows it. So the database is not at fault", "If the application needs it kept out, use postgresql/repeatable-read, and retry", "MySQL"},
		{"lost-update", "postgresql/repeatable-read", "The transactions ran at a weaker setting: postgresql/read-uncommitted and postgresql/read-committed allow it.", "Make sure that they ran at postgresql/repeatable-read. Ask on a connection of the application: SHOW transaction_isolation.", "use postgresql"},
		{"lost-update", "postgresql/repeatable-read", "The transactions ran at a weaker setting", "If they ran at less on purpose: lock what you read (SELECT ... FOR UPDATE), or compare a version", "or Or"},
		{"lost-update", "mysql/repeatable-read", "mysql/repeatable-read allows it.", "If the application needs it kept out, use mysql/serializable", "postgresql"},
		{"lost-update", "mariadb/serializable", "The transactions ran at a weaker setting: mariadb/read-uncommitted, mariadb/read-committed and mariadb/repeatable-read allow it.", "If the application can live with it, expect less", "Or lock"},
		{"lost-update", "tidb/optimistic", "The transactions ran at a weaker setting", "Make sure that they ran at tidb/optimistic", "Galera"},
		{"lost-update", "", "PostgreSQL, MySQL, MariaDB, CockroachDB, YugabyteDB and TiDB at read committed: the application reads", "Does the level allow it?", "weaker"},
		{"lost-update", "read-committed", "read-committed allows it. So the database is not at fault", "If the application needs it kept out, use snapshot-isolation or a stronger level", "no setting"},
		{"lost-update", "serializable", "The transactions ran at a weaker level than serializable", "Make sure that they ran at serializable", ", use "},
		{"G2-item", "postgresql/serializable", "The transactions ran at a weaker setting", "Make sure that they ran at postgresql/serializable", "oracle"},
		{"G2-item", "mysql/serializable", "The transactions ran at a weaker setting", "If no cause fits, report it to the product.", "Oracle"},
		{"G2-item", "cockroachdb/serializable", "The transactions ran at a weaker setting: cockroachdb/read-committed allows it.", "Make sure that", "PostgreSQL"},
		{"G2-item-realtime", "postgresql/serializable", "postgresql/serializable promises nothing about real time.", "If the application needs it kept out, order these", "Oracle"},
		{"G-single-item-process", "cockroachdb/serializable", "cockroachdb/serializable promises no order in a session.", "If the application needs it kept out, order these", "PostgreSQL"},
		{"G-single-item", "postgresql/serializable", "The transactions ran at a weaker setting", "Make sure", "each statement has"},
		{"G-single-item", "", "A read that went past", "Do both reads", "weaker"},
		{"G1a", "mongodb/local", "mongodb/local allows it", "If the application needs it kept out, use mongodb/majority.", "mysql"},
		{"G1a", "sqlite/serializable", "Your capture", "How did the client know", "mysql"},
		{"nonlinearizable", "etcd/linearizable", "The transactions ran at a weaker setting: etcd/serializable allows it. WithSerializable", "Make sure", "Cassandra"},
		{"G2-item", "mongodb/linearizable", "mongodb/linearizable promises something of each key by itself", "If the application needs it kept out, order", "use mongodb"},
		{"weaker-than-expected", "postgresql/serializable", "A connection pool", "default_transaction_isolation is", "mysql"},
		{"gap", "postgresql/serializable", "A producer", "Raise", "allows"},
	} {
		a := AdviceOn(c.anomaly, expecting(t, c.expect, c.anomaly))
		if len(a.Causes) == 0 || !strings.HasPrefix(a.Causes[0], c.first) {
			t.Errorf("%s at %s: %q, want first %q", c.anomaly, c.expect, a.Causes, c.first)
		}
		if !slices.ContainsFunc(a.Next, func(s string) bool { return strings.HasPrefix(s, c.step) }) {
			t.Errorf("%s at %s: %q, want a step %q", c.anomaly, c.expect, a.Next, c.step)
		}
		if all := strings.Join(slices.Concat(a.Causes, a.Next), "\n"); strings.Contains(all, c.without) {
			t.Errorf("%s at %s: %q names %s", c.anomaly, c.expect, all, c.without)
		}
	}
}

// A transaction that asked for less is told so, and not that the level allows the anomaly.
func TestAskedForLess(t *testing.T) {
	e := expecting(t, "postgresql/serializable", "G2-item")
	e.Allowed = true
	a := AdviceOn("G2-item", e)
	if !strings.HasPrefix(a.Causes[0], "The transactions asked for less than postgresql/serializable") || !slices.Contains(a.Next, "If these transactions cannot live with it, let them ask for postgresql/serializable.") {
		t.Errorf("%q, %q", a.Causes, a.Next)
	}
}

// foreign are the names by which texts call products, each with the products that may hear of it.
var foreign = map[string][]string{
	"postgres": {"postgresql"}, "mysql": {"mysql"}, "mariadb": {"mariadb"}, "sqlite": {"sqlite"}, "cockroach": {"cockroachdb"}, "yugabyte": {"yugabytedb"},
	"tidb": {"tidb"}, "mongodb": {"mongodb"}, "spanner": {"spanner"}, "cassandra": {"cassandra"}, "etcd": {"etcd"}, "oracle": nil, "galera": {"mysql", "mariadb"},
}

// galera matches the name of Jepsen's analysis: MySQL's Galera clusters are meant too.
var galera = regexp.MustCompile(`Jepsen, MariaDB Galera Cluster [0-9.]+ <[^>]*>`)

// used is the setting that a step sends people to.
var used = regexp.MustCompile(`use ([a-z]+/[a-z-]+)`)

// Each anomaly at each setting of each product has a cause and a step, none is about another
// product, and none sends people to a setting that is as strong as what they have, or weaker.
func TestAdviceAtEverySetting(t *testing.T) {
	for _, anomaly := range isolation.AnomalyNames() {
		for _, s := range isolation.Settings("") {
			forbidden := s.Level.Forbids(anomaly)
			for _, allowed := range []bool{true, false} {
				if allowed && forbidden == isolation.Ruled || !allowed && forbidden == isolation.Allowed && isolation.RefutesLevels(anomaly) {
					continue
				}
				a := AdviceOn(anomaly, Expected{s.String(), s.Level, allowed})
				if len(a.Causes) == 0 || len(a.Next) == 0 || a.Causes[0] == "" {
					t.Errorf("%s at %s: causes %q, steps %q", anomaly, s, a.Causes, a.Next)
					continue
				}
				checkAdvice(t, anomaly+" at "+s.String(), s, a)
				if says := strings.Contains(a.Causes[0], "So the database is not at fault"); says != (allowed && isolation.RefutesLevels(anomaly)) {
					t.Errorf("%s at %s, allowed %v: first cause %q", anomaly, s, allowed, a.Causes[0])
				}
			}
		}
	}
}

func checkAdvice(t *testing.T, what string, s isolation.Setting, a Advice) {
	t.Helper()
	for _, text := range slices.Concat(a.Causes, a.Next) {
		low := strings.ToLower(galera.ReplaceAllString(text, ""))
		for name, of := range foreign {
			if strings.Contains(low, name) && !slices.Contains(of, s.Product) {
				t.Errorf("%s: %q is about %s", what, text, name)
			}
		}
	}
	for _, text := range a.Next {
		for _, m := range used.FindAllStringSubmatch(text, -1) {
			l, _, err := isolation.ParseExpected(m[1])
			if err != nil || s.Level.Implies(l) {
				t.Errorf("%s: %q is no mend (%v)", what, text, err)
			}
		}
	}
}

// At each level without a product there is a cause and a step too. Settings that do not promise
// the level are said to be weaker, where the level forbids the anomaly.
func TestAdviceAtEveryLevel(t *testing.T) {
	weaker := regexp.MustCompile(`, weaker than ([a-z-]+): `)
	for _, anomaly := range isolation.AnomalyNames() {
		for _, l := range isolation.AllLevels() {
			for _, allowed := range []bool{true, false} {
				a := AdviceOn(anomaly, Expected{Level: l, Allowed: allowed})
				if len(a.Causes) == 0 || len(a.Next) == 0 {
					t.Errorf("%s at %s: causes %q, steps %q", anomaly, l, a.Causes, a.Next)
				}
				if allowed || !isolation.RefutesLevels(anomaly) {
					continue
				}
				for _, text := range a.Causes {
					of, _, _ := strings.Cut(text, ": ")
					said := weaker.MatchString(text)
					for _, s := range isolation.Settings("") {
						if names(of, s) && said == s.Level.Implies(l) {
							t.Errorf("%s at %s: %q, and %s promises %s", anomaly, l, text, s, s.Level)
						}
					}
				}
			}
		}
	}
}

// names says whether the beginning of a cause names the setting.
func names(of string, s isolation.Setting) bool {
	of, _, _ = strings.Cut(of, ", weaker than ")
	list, setting, one := strings.Cut(of, " at ")
	for _, n := range strings.Split(strings.ReplaceAll(list, " and ", ", "), ", ") {
		if n == s.String() || one && strings.EqualFold(n, s.Product) && strings.ReplaceAll(setting, " ", "-") == s.Name {
			return true
		}
	}
	return false
}

// Every page has causes and steps, in words that a terminal can show, of products that there are.
func TestEveryPageHasAdvice(t *testing.T) {
	for _, p := range Anomalies() {
		a := AdviceOn(p.Names[0], Expected{})
		if len(a.Causes) == 0 || len(a.Next) == 0 {
			t.Errorf("%s: causes %q, steps %q", p.Names[0], a.Causes, a.Next)
		}
		for _, text := range slices.Concat(a.Causes, a.Next) {
			if strings.ContainsAny(text, "\n`*[") || len(text) > 320 {
				t.Errorf("%s: %q (%d)", p.Names[0], text, len(text))
			}
		}
		for _, e := range slices.Concat(entries(p.Section("Usual causes")), entries(p.Section("What to do"))) {
			for _, name := range e.of {
				if !slices.ContainsFunc(isolation.Settings(""), func(s isolation.Setting) bool { return name == s.String() || name == s.Product }) && name != "oracle" {
					t.Errorf("%s: there is no %s", p.Names[0], name)
				}
			}
		}
		someAllow := isolation.RefutesLevels(p.Names[0]) && (isolation.Level{Base: isolation.ReadUncommitted}).Forbids(p.Names[0]) != isolation.Ruled
		if strings.Contains(p.Text, levelStep) != someAllow {
			t.Errorf("%s: a step about the level: %v, and some level allows it: %v", p.Names[0], !someAllow, someAllow)
		}
	}
	if a := AdviceOn("no such anomaly", Expected{Setting: "mysql/serializable"}); a.Causes != nil || a.Next != nil {
		t.Errorf("%+v", a)
	}
}

// Each page names the weakest setting of each product that forbids the anomaly.
func TestPagesNameTheSettings(t *testing.T) {
	for _, p := range Anomalies() {
		want := ""
		if mends := Mends(p.Names[0]); len(mends) > 0 && strings.Contains(p.Text, levelStep) {
			want = "The weakest settings that forbid it: `" + strings.Join(mends, "`, `") + "`."
		}
		text := p.Section("Levels that forbid it")
		if want == "" && strings.Contains(text, "The weakest settings that forbid it") || !strings.Contains(text, want) {
			t.Errorf("%s: want %s", p.Names[0], want)
		}
		for _, name := range p.Names {
			if _, _, ok := formOf(name); ok && !strings.Contains(text, settingsOfForm(name)) {
				t.Errorf("%s: want %s", p.Names[0], settingsOfForm(name))
			}
		}
	}
}

// Every product has words for how its setting is chosen and seen.
func TestChoices(t *testing.T) {
	for _, s := range isolation.Settings("") {
		if c := choices[s.Product]; c.chosen == "" || c.asked == "" || !strings.EqualFold(c.product, s.Product) {
			t.Errorf("%s: %+v", s.Product, c)
		}
	}
}
