// Package mysql opens MySQL and MariaDB for package probe.
package mysql

import (
	"database/sql"
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

// Options of a database. Zero fields take the default named.
type Options struct {
	Schema    string             // a database, which is dropped and made again; default isowatch_probe
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
	complete(config)
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	schema := quoted(o.Schema)
	d := dialect()
	d.Isolation = o.Isolation
	d.Session = []string{"USE " + schema}
	d.Reset = []string{"DROP DATABASE IF EXISTS " + schema, "CREATE DATABASE " + schema}
	for _, columns := range tables {
		d.Reset = append(d.Reset, "CREATE TABLE "+schema+"."+columns+" ENGINE=InnoDB")
	}
	if o.Snapshot {
		d.Session = append(d.Session, setSnapshot+"ON")
	}
	return probe.OpenSQL(sql.OpenDB(connector), d), nil
}

// complete sets what the statements rely on.
func complete(config *mysql.Config) {
	config.ClientFoundRows = true      // a row that is set to the value that it has counts as written
	config.InterpolateParams = true    // one round trip a statement
	config.Logger = &mysql.NopLogger{} // what it logs is an error that a session returns
}

// tables are the tables with their columns.
var tables = []string{
	"registers (k VARBINARY(100) PRIMARY KEY, v MEDIUMBLOB NOT NULL)",
	"lists (k VARBINARY(100) PRIMARY KEY, v MEDIUMBLOB NOT NULL)",
	"counters (k VARBINARY(100) PRIMARY KEY, n BIGINT NOT NULL, ver BIGINT NOT NULL DEFAULT 1)",
}

func dialect() probe.Dialect {
	return probe.Dialect{
		Upsert:  "INSERT INTO registers (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)",
		Append:  "INSERT INTO lists (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = CONCAT(v, ',', VALUES(v))",
		Outcome: Outcome,
	}
}

// Errors of the server after which the commit may have happened.
const (
	serverShutdown   = 1053 // ER_SERVER_SHUTDOWN
	queryInterrupted = 1317 // ER_QUERY_INTERRUPTED
	statementTimeout = 1969 // MariaDB's ER_STATEMENT_TIMEOUT
	queryTimeout     = 3024 // MySQL's ER_QUERY_TIMEOUT
)

// Outcome is the outcome, as far as it is known, after COMMIT failed with err.
func Outcome(err error) event.Status {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) {
		return event.Unknown // lost connection, time-out
	}
	switch refused.Number {
	case serverShutdown, queryInterrupted, statementTimeout, queryTimeout:
		return event.Unknown
	}
	return event.Aborted
}
