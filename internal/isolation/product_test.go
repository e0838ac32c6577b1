package isolation

import (
	"os"
	"strings"
	"testing"
)

func TestParseExpected(t *testing.T) {
	for _, c := range []struct{ text, level, setting, fault string }{
		{"serializable", "serializable", "", ""},
		{"strong-session-causal", "strong-session-causal", "", ""},
		{"postgresql/repeatable-read", "strong-session-snapshot-isolation", "postgresql/repeatable-read", ""},
		{"postgresql/repeatable-read-with-replicas", "causal", "postgresql/repeatable-read-with-replicas", ""},
		{"mysql/repeatable-read", "strong-session-read-committed", "mysql/repeatable-read", ""},
		{"spanner/serializable", "strong-serializable", "spanner/serializable", ""},
		{"cassandra/lwt", "linearizable", "cassandra/lwt", ""},
		{"sqlite/serializable", "strong-session-serializable", "sqlite/serializable", ""},
		{"oracle/serializable", "", "", "its SERIALIZABLE is snapshot isolation"},
		{"teradata/serializable", "", "", `no product is called "teradata"; those known are postgresql, mysql, mariadb, sqlite, cockroachdb and others (monitor explain lists all)`},
		{"etcd/eventual", "", "", `etcd has no setting "eventual"; those known are etcd/serializable, etcd/linearizable`},
		{"postgresql", "", "", "name one of postgresql/read-uncommitted"}, {"mysql/", "", "", "name one of mysql/read-uncommitted"},
		{"postgresql", "", "", "postgresql/read-committed-with-replicas and others (monitor explain postgresql lists all)"},
		{"postgresq", "", "", "did you mean postgresql?"}, {"mariadb/serialisabel", "", "", "did you mean mariadb/serializable?"},
		{"postgresqll/serializable", "", "", "did you mean postgresql?"},
		{"postgers/serializable", "", "", `no product is called "postgers"; did you mean postgresql?`}, {"postgrs/rr", "", "", "did you mean postgresql?"}, {"postgers", "", "", "did you mean postgres?"},
		{"tidb/pessimistic", "", "", "those known are tidb/read-committed, tidb/repeatable-read, tidb/optimistic"},
		{"rds", "", "", "it runs PostgreSQL, MySQL or another product"}, {"rds/serializable", "", "", "it runs PostgreSQL"},
		{"read committed snapshot isolation", "read-committed", "", ""},
		{"Postgres/serializable", "strong-session-serializable", "postgresql/serializable", ""}, {"strict-serializable", "strong-serializable", "", ""},
		{"mysql/repeatable read", "strong-session-read-committed", "mysql/repeatable-read", ""},
		{"postgresql/READ COMMITTED", "strong-session-read-committed", "postgresql/read-committed", ""},
		{"postgres/rr", "strong-session-snapshot-isolation", "postgresql/repeatable-read", ""},
		{"PG/Serializable", "strong-session-serializable", "postgresql/serializable", ""},
		{" mariadb/rr ", "strong-session-read-committed", "mariadb/repeatable-read", ""},
		{"mariadb/SI", "strong-session-snapshot-isolation", "mariadb/snapshot-isolation", ""},
		{"mongo/snapshot isolation", "snapshot-isolation", "mongodb/snapshot", ""},
		{"crdb/rc", "read-committed", "cockroachdb/read-committed", ""}, {"mysql/READ_UNCOMMITTED", "strong-session-read-uncommitted", "mysql/read-uncommitted", ""},
		{"repeatable-read", "repeatable-read", "", ""}, {"session-serializable", "strong-session-serializable", "", ""},
		{"", "", "", "no level is named: want one such as serializable"}, {" ", "", "", "no level is named"},
		{"3", "", "", `no isolation level or product is called "3"; there are serializable, snapshot-isolation, causal, read-committed, postgresql/repeatable-read and others (monitor explain lists all)`},
		{"ser,si", "", "", `"ser,si" names more than one level`},
		{"sqlserver", "", "", "sqlserver has no settings here, and its SNAPSHOT is snapshot-isolation"},
		{"sqlserver/snapshot", "", "", "Products with settings are postgresql, mysql, mariadb, sqlite, cockroachdb and others (monitor explain lists all)"},
		{"dynamodb/eventual", "", "", "A level can be named instead, such as snapshot-isolation"},
	} {
		l, setting, err := ParseExpected(c.text)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: error %v, want %q", c.text, err, c.fault)
			}
			continue
		}
		if err != nil || l.String() != c.level || setting != c.setting {
			t.Errorf("%q: %v of %q, %v; want %s of %q", c.text, l, setting, err, c.level, c.setting)
		}
	}
	for _, name := range promises() {
		if _, _, err := ParseExpected(name); err != nil {
			t.Error(err)
		}
	}
}

// TestAskedOf: one SQL name, several meanings.
func TestAskedOf(t *testing.T) {
	for _, c := range []struct {
		product, name string
		want          Base
	}{
		{"", "REPEATABLE READ", ReadCommitted},
		{"postgresql", "REPEATABLE READ", SnapshotIsolation},
		{"postgresql", "repeatable read", SnapshotIsolation},
		{"mysql", "REPEATABLE READ", ReadCommitted},
		{"postgresql", "READ UNCOMMITTED", ReadCommitted},
		{"mysql", "READ UNCOMMITTED", ReadUncommitted},
		{"mysql", "READ-UNCOMMITTED", ReadUncommitted},
		{"", "REPEATABLE-READ", ReadCommitted},
		{"postgresql", "snapshot-isolation", SnapshotIsolation},
		{"postgresql", "SERIALIZABLE", Serializable},
		{"mysql", "", 0},
		{"mysql", "whatever", 0},
	} {
		if got := AskedOf(c.product, []byte(c.name)); got != c.want {
			t.Errorf("%q at %q: %d, want %d", c.name, c.product, got, c.want)
		}
	}
}

// promises are all names that [ParseExpected] reads beside levels.
func promises() []string {
	var names []string
	for i := range products {
		for _, s := range products[i].settings {
			names = append(names, products[i].name+"/"+s.setting)
		}
	}
	return names
}

// TestProductsAreDocumented: the table of docs/proofs.md, section 12, has every setting
// once, with its level and its rules, and no other one.
func TestProductsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/proofs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| setting | expect | because | known gaps |\n")
	documented := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			break
		}
		for name := range strings.SplitSeq(cells[1], ",") {
			name = strings.Trim(name, " `")
			if documented[name] != "" {
				t.Errorf("%s is there twice", name)
			}
			documented[name] = strings.TrimSpace(cells[2])
		}
	}
	for _, name := range promises() {
		l, _, err := ParseExpected(name)
		if err != nil {
			t.Fatal(err)
		}
		want, rules := l.String(), RulesOf(name)
		if rules.Rows {
			want += ", of rows"
		}
		if rules.Tracked {
			want += ", tracked"
		}
		if documented[name] != want {
			t.Errorf("%s: the table says %q, want %q", name, documented[name], want)
		}
		delete(documented, name)
	}
	delete(documented, "---")
	for name := range documented {
		t.Errorf("the table has %s, which is not known", name)
	}
	if (RulesOf("snapshot-isolation") != Rules{}) || (RulesOf("mysql/serializable") != Rules{}) {
		t.Error("a level by its name, or another product, has rules")
	}
}
