package docs

import (
	"slices"
	"strings"
	"testing"
)

// The causes that a finding names are those of the product and its setting.
func TestAdviceOn(t *testing.T) {
	for _, c := range []struct {
		anomaly, setting string
		first            string // the likeliest cause begins with it
		without          string // no cause holds it
	}{
		{"lost-update", "postgresql/read-committed", "The application reads", "MySQL"},
		{"lost-update", "postgresql/repeatable-read", "The application", "TiDB"},
		{"lost-update", "mysql/repeatable-read", "MySQL, MariaDB and TiDB at repeatable read", "PostgreSQL"},
		{"lost-update", "mariadb/serializable", "The application", "PostgreSQL"},
		{"lost-update", "tidb/optimistic", "TiDB optimistic before 3.0", "Galera"},
		{"lost-update", "", "The application", "MongoDB"},
		{"G2-item", "postgresql/serializable", "PostgreSQL at serializable before", "Oracle"},
		{"G2-item-realtime", "postgresql/repeatable-read", "PostgreSQL at repeatable read", "Oracle"},
		{"G-single-item", "", "A replica", "MongoDB"},
		{"G1a", "mongodb/local", "MongoDB with read concern local", "MySQL"},
		{"G1a", "sqlite/serializable", "Your capture", "MySQL"},
		{"nonlinearizable", "etcd/linearizable", "A read from a replica", "Cassandra"},
	} {
		a := AdviceOn(c.anomaly, c.setting)
		if len(a.Causes) == 0 || !strings.HasPrefix(a.Causes[0], c.first) {
			t.Errorf("%s at %s: %q, want first %q", c.anomaly, c.setting, a.Causes, c.first)
		}
		if strings.Contains(strings.Join(a.Causes, "\n"), c.without) {
			t.Errorf("%s at %s: %q names %s", c.anomaly, c.setting, a.Causes, c.without)
		}
	}
}

// Every page has causes and steps, in words that a terminal can show.
func TestEveryPageHasAdvice(t *testing.T) {
	for _, p := range Anomalies() {
		a := AdviceOn(p.Names[0], "")
		if len(a.Causes) == 0 || len(a.Next) == 0 {
			t.Errorf("%s: causes %q, steps %q", p.Names[0], a.Causes, a.Next)
		}
		for _, text := range slices.Concat(a.Causes, a.Next) {
			if strings.ContainsAny(text, "\n`*[") || len(text) > 300 {
				t.Errorf("%s: %q", p.Names[0], text)
			}
		}
	}
	if a := AdviceOn("no such anomaly", "mysql/serializable"); a.Causes != nil || a.Next != nil {
		t.Errorf("%+v", a)
	}
}
