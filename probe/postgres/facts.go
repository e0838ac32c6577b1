package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Facts are a database's answers about itself.
type Facts struct {
	Product   string // as package isolation names it: postgresql, cockroachdb, yugabytedb
	Version   string
	Isolation string // of the transactions, in SQL's words: repeatable read
	Replica   bool   // it follows another server
	ReadOnly  bool   // it takes no writes
}

// levels are SQL's words for what a transaction may ask for; "" is the database's default.
var levels = map[string]sql.IsolationLevel{
	"": sql.LevelDefault, "read uncommitted": sql.LevelReadUncommitted, "read committed": sql.LevelReadCommitted,
	"repeatable read": sql.LevelRepeatableRead, "serializable": sql.LevelSerializable,
}

var errReadOnly = errors.New("the database is read-only, as a replica is: name its primary")

const (
	askVersion   = "SELECT version(), pg_is_in_recovery()"
	askReadOnly  = "SHOW transaction_read_only"
	askIsolation = "SHOW transaction_isolation"
)

// learn asks the database, and what transactions get that ask for the isolation: some
// products give another level than was asked for.
func (f *Facts) learn(ctx context.Context, db *sql.DB, isolation string) error {
	level, known := levels[isolation]
	if !known {
		return fmt.Errorf("the isolation %q: want read uncommitted, read committed, repeatable read or serializable", isolation)
	}
	var version, readOnly string
	if err := db.QueryRowContext(ctx, askVersion).Scan(&version, &f.Replica); err != nil {
		return err
	}
	f.Product, f.Version = productOf(version)
	if err := db.QueryRowContext(ctx, askReadOnly).Scan(&readOnly); err != nil {
		return err
	}
	f.ReadOnly = f.Replica || readOnly == "on"
	if f.Replica && level == sql.LevelSerializable {
		level = sql.LevelRepeatableRead // a hot standby refuses the other
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	err = tx.QueryRowContext(ctx, askIsolation).Scan(&f.Isolation)
	f.Isolation = strings.ToLower(f.Isolation)
	return err
}

// versions are how products name themselves. The first that fits counts.
var versions = []struct {
	product string
	version *regexp.Regexp
}{
	{"cockroachdb", regexp.MustCompile(`^CockroachDB\b.*?\b(v[0-9]\S*)`)},
	{"yugabytedb", regexp.MustCompile(`-YB-(\S+)`)},
	{"postgresql", regexp.MustCompile(`^PostgreSQL (\S+)`)},
}

// productOf reads what version() says; "" is a product that is not known.
func productOf(text string) (product, version string) {
	for _, v := range versions {
		if found := v.version.FindStringSubmatch(text); found != nil {
			return v.product, found[1]
		}
	}
	return "", text
}
