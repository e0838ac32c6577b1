package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Facts are a server's answers about itself.
type Facts struct {
	Product   string // as package isolation names it: mysql, mariadb, tidb
	Version   string
	Isolation string // of the transactions, in SQL's words, snapshot isolation or optimistic
	Replica   bool   // it follows another server
	ReadOnly  bool   // it takes no writes

	snapshotKnown bool // it has innodb_snapshot_isolation
}

// snapshot is repeatable read with innodb_snapshot_isolation=ON, as MariaDB knows it from
// 10.6.18, 10.11.8 and 11.4.2 on. From 11.6.2 on it is the default.
const snapshot = "snapshot isolation"

// optimistic is TiDB's repeatable read in its optimistic mode.
const optimistic = "optimistic"

// levels are the words for what a transaction may ask for; "" is the server's default.
var levels = map[string]sql.IsolationLevel{
	"": sql.LevelDefault, "read uncommitted": sql.LevelReadUncommitted, "read committed": sql.LevelReadCommitted,
	"repeatable read": sql.LevelRepeatableRead, snapshot: sql.LevelRepeatableRead, "serializable": sql.LevelSerializable,
}

var errReadOnly = errors.New("the server is read-only (read_only=ON), as a replica is: name its primary")

// learn asks the server.
func (f *Facts) learn(ctx context.Context, db *sql.DB, isolation string) error {
	if _, known := levels[isolation]; !known {
		return fmt.Errorf("the isolation %q: want read uncommitted, read committed, repeatable read, serializable or, on MariaDB, snapshot isolation", isolation)
	}
	set, err := variables(ctx, db)
	if err != nil {
		return err
	}
	f.Product, f.Version = productOf(set["version"])
	f.ReadOnly = set["read_only"] != "OFF" && set["read_only"] != ""
	f.Replica = f.ReadOnly
	f.Isolation = isolation
	if isolation == "" {
		level := set["transaction_isolation"]
		if level == "" {
			level = set["tx_isolation"] // MariaDB before 11.1.1, MySQL before 8.0.3
		}
		f.Isolation = strings.ToLower(strings.ReplaceAll(level, "-", " "))
	}
	snapshots, known := set["innodb_snapshot_isolation"]
	f.snapshotKnown = known
	switch {
	case isolation == snapshot && !known:
		return errors.New("the isolation \"snapshot isolation\": this server has no innodb_snapshot_isolation, which MariaDB knows from 10.6.18, 10.11.8 and 11.4.2 on")
	case isolation == "" && f.Isolation == "repeatable read" && snapshots == "ON":
		f.Isolation = snapshot
	case f.Product == "tidb" && f.Isolation == "repeatable read" && set["tidb_txn_mode"] == "optimistic":
		f.Isolation = optimistic
	}
	return nil
}

// variables are those that matter and that the server has.
func variables(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, showVariables)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	set := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		set[name] = value
	}
	return set, rows.Err()
}

const showVariables = "SHOW VARIABLES WHERE Variable_name IN ('version', 'read_only', 'transaction_isolation', 'tx_isolation', " +
	"'innodb_snapshot_isolation', 'tidb_txn_mode')"

// versions are how products name themselves. The first that fits counts.
var versions = []struct {
	product string
	version *regexp.Regexp
}{
	{"tidb", regexp.MustCompile(`-TiDB-(\S+)`)},
	{"mariadb", regexp.MustCompile(`^(?:5\.5\.5-)?([0-9.]+)-MariaDB`)},
	{"mysql", regexp.MustCompile(`^([0-9.]+)`)},
}

// productOf reads the variable version; "" is a product that is not known.
func productOf(text string) (product, version string) {
	for _, v := range versions {
		if found := v.version.FindStringSubmatch(text); found != nil {
			return v.product, found[1]
		}
	}
	return "", text
}
