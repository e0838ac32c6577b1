package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/epoch"
)

// EpochOptions are the options of the tables that one run of a probe uses.
type EpochOptions struct {
	Epoch       string        // see [epoch.Check]
	Schema      string        // made if it is not there
	Isolation   string        // in SQL's words; "": what the database is set to
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

// OpenEpoch opens a database that may be somebody else's. The schema may only hold tables of
// probes. Tables of earlier epochs are dropped, and nothing outside of the schema is touched. A
// second probe of the schema is refused until [epoch.Tables.Close]. The user needs the right to
// create the schema, or the rights USAGE and CREATE on it. An error is one sentence without
// secrets.
func OpenEpoch(ctx context.Context, url string, o EpochOptions) (*Epoch, error) {
	if err := epoch.Check(o.Epoch); err != nil {
		return nil, err
	}
	config, err := o.config(url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*o.Timeout)
	defer cancel()
	e := &Epoch{Tables: o.tables(config), Name: nameOf(config)}
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
	e.settle(&e.Dialect, o.Isolation)
	return e, nil
}

// settle sets the isolation of the sessions. Below serializable, ON CONFLICT DO UPDATE inserts
// another row if the row that the transaction read was deleted since. PostgreSQL's repeatable
// read promises nothing about that, and refuses an UPDATE.
func (f *Facts) settle(d *probe.Dialect, isolation string) {
	d.Isolation = levels[isolation]
	serializable := f.Isolation == "serializable" || isolation == "serializable"
	if !serializable {
		d.Upsert = ""
	}
	if f.Product == "postgresql" && serializable {
		d.Follower = sql.LevelRepeatableRead // a hot standby refuses serializable transactions
	}
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
	ctx, cancel := context.WithTimeout(ctx, 3*o.Timeout)
	defer cancel()
	e := &Endpoint{SQL: probe.OpenSQL(o.connect(config), epochDialect(o.Schema, o.Epoch)), Name: nameOf(config)}
	if err := e.learn(ctx, e.DB, o.Isolation); err != nil {
		_ = e.Close() // what matters is why
		return nil, explain(err, config, o.Schema)
	}
	e.settle(&e.Dialect, o.Isolation)
	return e, nil
}

// nameOf is the server's address.
func nameOf(config *pgx.ConnConfig) string {
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
}

// connect has a bounded number of connections.
func (o *EpochOptions) connect(config *pgx.ConnConfig) *sql.DB {
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(o.Connections)
	return db
}

// config is how to connect. The server, too, ends what takes too long, whatever becomes of
// this process.
func (o *EpochOptions) config(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, unread(err)
	}
	if o.Password != "" {
		config.Password = o.Password
	}
	config.ConnectTimeout = o.Timeout
	for _, s := range o.settings() {
		if _, named := config.RuntimeParams[s[0]]; !named {
			config.RuntimeParams[s[0]] = s[1]
		}
	}
	return config, nil
}

// settings are the settings of a connection, unless the URL has others.
func (o *EpochOptions) settings() [][2]string {
	timeout := strconv.FormatInt(o.Timeout.Milliseconds(), 10)
	return [][2]string{{"application_name", "isowatch probe"}, {"statement_timeout", timeout}, {"idle_in_transaction_session_timeout", timeout}}
}

func (o *EpochOptions) tables(config *pgx.ConnConfig) epoch.Tables {
	db, locks := o.connect(config), stdlib.OpenDB(*config)
	locks.SetMaxOpenConns(1)
	return epoch.Tables{
		SQL:    probe.OpenSQL(db, epochDialect(o.Schema, o.Epoch)),
		Schema: o.Schema,
		Locks:  locks,
		List:   func(ctx context.Context) ([]epoch.Table, error) { return epoch.List(ctx, db, listTables, o.Schema) },
		Name:   func(table string) string { return pgx.Identifier{o.Schema, table}.Sanitize() },
	}
}

// prefix begins the names of the tables.
func prefix(schema, epoch string) string {
	return pgx.Identifier{schema}.Sanitize() + "." + epoch + "_"
}

func epochDialect(schema, name string) probe.Dialect {
	d := dialect()
	d.Prefix = prefix(schema, name)
	d.ReadOnly = readOnly
	for _, columns := range tables {
		table, _, _ := strings.Cut(columns, " ")
		d.Reset = append(d.Reset, "CREATE TABLE "+columns+"; COMMENT ON TABLE "+table+" IS '"+epoch.Mark+"'")
	}
	return d
}

// claim takes the lock, makes the schema if need be, and drops the tables of earlier epochs.
func (e *Epoch) claim(ctx context.Context) (err error) {
	where := "the schema " + e.Schema
	if e.Lock, err = epoch.Hold(ctx, e.Locks, where, func(ctx context.Context, conn *sql.Conn) (taken bool, err error) {
		err = conn.QueryRowContext(ctx, tryLock, lockNumber(e.Schema)).Scan(&taken)
		if lockless(err) {
			return true, nil
		}
		return taken, err
	}); err != nil {
		return err
	}
	return e.Enter(ctx, schemaThere, createSchema(e.Schema), e.mayUse)
}

// mayUse says which right on the schema the user lacks.
func (e *Epoch) mayUse(ctx context.Context) error {
	for _, right := range []string{"USAGE", "CREATE"} {
		var has bool
		if err := e.DB.QueryRowContext(ctx, mayUse, e.Schema, right).Scan(&has); err != nil {
			return err
		}
		if !has {
			return fmt.Errorf("the user has no right %s on the schema %q: grant it, or name another schema", right, e.Schema)
		}
	}
	return nil
}

// lockless says that the product has no advisory locks, as YugabyteDB before 2.25: nothing
// keeps two probes of a schema apart there.
func lockless(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == featureNotSupported
}

func createSchema(name string) string { return "CREATE SCHEMA " + pgx.Identifier{name}.Sanitize() }

const (
	readOnly    = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'"
	tryLock     = "SELECT pg_try_advisory_lock($1)"
	schemaThere = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)"
	mayUse      = "SELECT has_schema_privilege($1, $2)"
	// listTables leaves out what belongs to a table: indexes, sequences and types.
	listTables = `SELECT c.relname, coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY c.relname`
)

// lockNumber is of the advisory lock, which is the database's.
func lockNumber(schema string) int64 {
	h := fnv.New64a()
	h.Write([]byte("isowatch probe " + schema))
	return int64(h.Sum64())
}
