// Package mysql opens MySQL and MariaDB for package probe.
package mysql

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

// Options of a database. Zero fields take the default named.
type Options struct {
	Schema    string             // a database, which is dropped and made anew; default isowatch_probe
	Isolation sql.IsolationLevel // default: what the database is set to
	// Snapshot makes repeatable read snapshot isolation (innodb_snapshot_isolation=ON),
	// which MariaDB knows from 10.6.18, 10.11.8 and 11.4.2 on.
	Snapshot bool
}

// Open reads a data source name as the driver does; it does not connect yet.
func Open(name string, o Options) (*probe.SQL, error) {
	config, err := mysql.ParseDSN(name)
	if err != nil {
		return nil, err
	}
	if o.Schema == "" {
		o.Schema = "isowatch_probe"
	}
	config.ClientFoundRows = true      // a row that is set to the value that it has counts as written
	config.InterpolateParams = true    // one round trip a statement
	config.Logger = &mysql.NopLogger{} // what it logs is an error that a session returns
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	schema := "`" + strings.ReplaceAll(o.Schema, "`", "``") + "`"
	d := probe.Dialect{
		Reset: []string{
			"DROP DATABASE IF EXISTS " + schema,
			"CREATE DATABASE " + schema,
			"CREATE TABLE " + schema + ".registers (k VARBINARY(100) PRIMARY KEY, v MEDIUMBLOB NOT NULL) ENGINE=InnoDB",
			"CREATE TABLE " + schema + ".lists (k VARBINARY(100) PRIMARY KEY, v MEDIUMBLOB NOT NULL) ENGINE=InnoDB",
			"CREATE TABLE " + schema + ".counters (k VARBINARY(100) PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB",
		},
		Upsert:    "INSERT INTO registers (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)",
		Append:    "INSERT INTO lists (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = CONCAT(v, ',', VALUES(v))",
		Isolation: o.Isolation,
		Session:   []string{"USE " + schema},
		Outcome:   Outcome,
	}
	if o.Snapshot {
		d.Session = append(d.Session, "SET SESSION innodb_snapshot_isolation = ON")
	}
	return probe.OpenSQL(sql.OpenDB(connector), d), nil
}

// Errors of the server after which the commit may have happened.
const (
	serverShutdown   = 1053 // ER_SERVER_SHUTDOWN
	queryInterrupted = 1317 // ER_QUERY_INTERRUPTED
)

// Outcome is what is known after COMMIT failed with err.
func Outcome(err error) event.Status {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number == serverShutdown || refused.Number == queryInterrupted {
		return event.Unknown // lost connection, time-out
	}
	return event.Aborted
}
