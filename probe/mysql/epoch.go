package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/epoch"
)

// EpochOptions are the options of the tables that one run of a probe uses.
type EpochOptions struct {
	Epoch       string        // see [epoch.Check]
	Schema      string        // a database, made if it is not there
	Isolation   string        // in SQL's words, or "snapshot isolation" (MariaDB); "": what the database is set to
	Password    string        // unless empty, in place of the URL's
	Timeout     time.Duration // of a statement, and of connecting
	Connections int           // at most, without the one that holds the lock
}

// Epoch is a database with tables that only one run of a probe uses.
type Epoch struct {
	epoch.Tables
	Facts
	Name string // the server's address
}

// OpenEpoch opens a server that may be somebody else's. The schema may only hold tables of
// probes. Tables of earlier epochs are dropped, and nothing outside of the schema is touched. A
// second probe of the schema is refused until [epoch.Tables.Close]. The user needs all rights
// on the schema, and no others. An error is one sentence without secrets.
func OpenEpoch(ctx context.Context, url string, o EpochOptions) (*Epoch, error) {
	if err := epoch.Check(o.Epoch); err != nil {
		return nil, err
	}
	config, err := o.config(url)
	if err != nil {
		return nil, err
	}
	t, err := o.tables(config)
	if err != nil {
		return nil, explain(err, config, o.Schema)
	}
	e := &Epoch{Tables: t, Name: config.Addr}
	ctx, cancel := context.WithTimeout(ctx, 3*o.Timeout)
	defer cancel()
	err = e.learn(ctx, e.DB, o.Isolation)
	if err == nil && e.ReadOnly {
		err = errReadOnly
	}
	if err == nil {
		err = e.claim(ctx)
	}
	if err != nil {
		_ = e.Abandon() // what matters is why
		return nil, explain(err, config, o.Schema)
	}
	e.settle(&e.Dialect, &o)
	return e, nil
}

// settle sets the isolation of the sessions, and how they begin.
func (f *Facts) settle(d *probe.Dialect, o *EpochOptions) {
	d.Isolation = levels[o.Isolation]
	d.Session = f.session(o.Isolation, o.Timeout)
}

// Endpoint is another server of the same database.
type Endpoint struct {
	*probe.SQL
	Facts
	Name string // its address
}

// OpenEndpoint opens a replica, or a node, of the database that has the tables of an [Epoch].
// It makes nothing there. An error is one sentence without secrets.
func OpenEndpoint(ctx context.Context, url string, o EpochOptions) (*Endpoint, error) {
	config, err := o.config(url)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, explain(err, config, o.Schema)
	}
	ctx, cancel := context.WithTimeout(ctx, 3*o.Timeout)
	defer cancel()
	e := &Endpoint{SQL: probe.OpenSQL(o.connect(connector), epochDialect(o.Schema, o.Epoch)), Name: config.Addr}
	if err := e.learn(ctx, e.DB, o.Isolation); err != nil {
		_ = e.Close() // what matters is why
		return nil, explain(err, config, o.Schema)
	}
	e.settle(&e.Dialect, &o)
	return e, nil
}

// connect has a bounded number of connections.
func (o *EpochOptions) connect(connector driver.Connector) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(o.Connections)
	return db
}

func (o *EpochOptions) config(url string) (*mysql.Config, error) {
	config, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if o.Password != "" {
		config.Passwd = o.Password
	}
	config.Timeout = o.Timeout
	// The server ends a statement before: this is for one that does not answer at all.
	config.ReadTimeout, config.WriteTimeout = 2*o.Timeout, 2*o.Timeout
	complete(config)
	return config, nil
}

func (o *EpochOptions) tables(config *mysql.Config) (epoch.Tables, error) {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return epoch.Tables{}, err
	}
	db, locks := o.connect(connector), sql.OpenDB(connector)
	locks.SetMaxOpenConns(1)
	return epoch.Tables{
		SQL:    probe.OpenSQL(db, epochDialect(o.Schema, o.Epoch)),
		Schema: o.Schema,
		Locks:  locks,
		List:   func(ctx context.Context) ([]epoch.Table, error) { return epoch.List(ctx, db, listTables, o.Schema) },
		Name:   func(table string) string { return quoted(o.Schema) + "." + quoted(table) },
	}, nil
}

func epochDialect(schema, name string) probe.Dialect {
	d := dialect()
	d.ReadOnly = readOnlyNow
	d.Prefix = quoted(schema) + "." + name + "_"
	for _, columns := range tables {
		d.Reset = append(d.Reset, "CREATE TABLE "+columns+" ENGINE=InnoDB COMMENT='"+epoch.Mark+"'")
	}
	return d
}

// claim takes the lock, makes the schema if need be, and drops the tables of earlier epochs.
func (e *Epoch) claim(ctx context.Context) (err error) {
	where := "the schema " + e.Schema
	if e.Lock, err = epoch.Hold(ctx, e.Locks, where, func(ctx context.Context, conn *sql.Conn) (bool, error) {
		var taken sql.NullInt64
		err := conn.QueryRowContext(ctx, getLock, lockName(e.Schema)).Scan(&taken)
		return taken.Int64 == 1, err
	}); err != nil {
		return err
	}
	return e.Enter(ctx, schemaThere, createSchema(e.Schema), nil)
}

func createSchema(name string) string { return "CREATE DATABASE " + quoted(name) }

const (
	// readOnlyNow is 0, 1 or, from MariaDB 12.0 on, a word.
	readOnlyNow = "SELECT CAST(@@global.read_only AS CHAR) NOT IN ('0', 'OFF')"
	getLock     = "SELECT GET_LOCK(?, 0)"
	schemaThere = "SELECT COUNT(*) > 0 FROM information_schema.schemata WHERE schema_name = ?"
	listTables  = "SELECT table_name, table_comment FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name"
)

// lockName is of a lock of the whole server, of at most 64 characters.
func lockName(schema string) string {
	h := fnv.New64a()
	h.Write([]byte(schema))
	return "isowatch probe " + strconv.FormatUint(h.Sum64(), 16)
}

func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// session are the statements that prepare a connection: the server, too, ends what takes
// too long, whatever becomes of this process.
func (f *Facts) session(isolation string, timeout time.Duration) []string {
	seconds := max(1, int(timeout.Seconds()))
	all := []string{fmt.Sprintf("SET SESSION innodb_lock_wait_timeout = %d", seconds)}
	switch f.Product {
	case "mariadb":
		all = append(all,
			fmt.Sprintf("SET SESSION max_statement_time = %d", seconds),
			fmt.Sprintf("SET SESSION idle_transaction_timeout = %d", seconds))
	default:
		all = append(all, fmt.Sprintf("SET SESSION max_execution_time = %d", timeout.Milliseconds()))
	}
	if isolation == snapshot {
		all = append(all, setSnapshot+"ON")
	} else if f.snapshotKnown && isolation == "repeatable read" {
		all = append(all, setSnapshot+"OFF")
	}
	return all
}

const setSnapshot = "SET SESSION innodb_snapshot_isolation = "
