package capture_test

//lint:file-ignore SA1019 a driver may have nothing else

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/capture/rows"
	"github.com/isowatch/isowatch/internal/testcapture"
)

// place is a database with a table, in which a test runs.
type place struct {
	t  *testing.T
	db *sql.DB
	r  *capture.Recorder
}

var stock = rows.Table{Name: "stock", Key: "id", Columns: []string{"n"}, Version: "version", Dialect: rows.SQLite}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p place) put(tx rows.Queryer, n int) {
	p.t.Helper()
	must(p.t, stock.Put(p.t.Context(), rows.SQL(tx), 1, n))
}

func (p place) begin(ctx context.Context, o *sql.TxOptions) *sql.Tx {
	p.t.Helper()
	tx, err := p.db.BeginTx(ctx, o)
	must(p.t, err)
	return tx
}

func (p place) conn() *sql.Conn {
	p.t.Helper()
	c, err := p.db.Conn(p.t.Context())
	must(p.t, err)
	return c
}

func (p place) exec(tx capture.Execer, query string) {
	p.t.Helper()
	_, err := tx.ExecContext(p.t.Context(), query)
	must(p.t, err)
}

var errLost = errors.New("the connection is lost")

// cases list what programs do. What is recorded of each is in testdata/connector.txt.
var cases = []struct {
	name string
	run  func(p place)
}{
	{"committed, in a session", func(p place) {
		ctx := capture.WithSession(p.t.Context(), p.r.Session("worker"))
		for n := range 2 {
			tx := p.begin(ctx, nil)
			p.put(tx, n)
			var got int
			_, err := stock.Get(ctx, rows.SQL(tx), 1, &got)
			must(p.t, err)
			must(p.t, tx.Commit())
		}
	}},
	{"asked for a level", func(p place) {
		must(p.t, p.begin(p.t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable}).Commit())
	}},
	{"rolled back", func(p place) {
		tx := p.begin(p.t.Context(), nil)
		p.put(tx, 1)
		must(p.t, tx.Rollback())
	}},
	{"cancelled", func(p place) {
		ctx, cancel := context.WithCancel(p.t.Context())
		tx := p.begin(ctx, nil)
		p.put(tx, 1)
		cancel()
		if err := tx.Commit(); err == nil {
			p.t.Error("it was committed")
		}
		for p.db.Stats().InUse > 0 { // database/sql rolls back in the background
			time.Sleep(time.Millisecond)
		}
	}},
	{"helpers outside of a transaction", func(p place) {
		p.put(p.db, 1)
		found, err := stock.Update(p.t.Context(), rows.SQL(p.db), 2, 1)
		if found || err != nil {
			p.t.Errorf("%v, %v", found, err)
		}
		if err := stock.Insert(p.t.Context(), rows.SQL(p.db), 1, 2); err == nil {
			p.t.Error("a row was inserted twice")
		}
	}},
	{"statements that begin and end, and savepoints", func(p place) {
		c := p.conn()
		defer c.Close()
		p.exec(c, "BEGIN IMMEDIATE")
		p.put(c, 1)
		p.exec(c, "SAVEPOINT a")
		p.put(c, 2)
		p.exec(c, "ROLLBACK TO a")
		p.put(c, 3)
		p.exec(c, "COMMIT")
	}},
	{"prepared statements", func(p place) {
		c := p.conn()
		defer c.Close()
		for _, query := range []string{"BEGIN", "INSERT INTO stock VALUES (1, 2, 'a')", "ROLLBACK"} {
			s, err := c.PrepareContext(p.t.Context(), query)
			must(p.t, err)
			_, err = s.ExecContext(p.t.Context())
			must(p.t, err)
			must(p.t, s.Close())
		}
	}},
	{"told by hand", func(p place) {
		tx := p.begin(p.t.Context(), nil)
		var n int
		must(p.t, tx.QueryRowContext(p.t.Context(), "SELECT count(*) FROM stock").Scan(&n))
		capture.Of(p.t.Context(), tx).ReadCounter("rows", int64(n))
		must(p.t, tx.Commit())
		if capture.Of(p.t.Context(), tx) != nil {
			p.t.Error("a transaction that has ended is open")
		}
	}},
	{"left open by a connection that goes back", func(p place) {
		c := p.conn()
		p.exec(c, "BEGIN")
		p.put(c, 1)
		must(p.t, c.Raw(func(dc any) error {
			s, err := capture.Unwrap(dc).(driver.Conn).Prepare("ROLLBACK")
			must(p.t, err)
			_, err = s.Exec(nil)
			return errors.Join(err, s.Close())
		}))
		must(p.t, c.Close())
		p.put(p.db, 2)
	}},
	{"a commit that is refused", func(p place) {
		c := p.conn()
		defer c.Close()
		tx, err := c.BeginTx(p.t.Context(), nil)
		must(p.t, err)
		p.exec(tx, "INSERT INTO child VALUES (7)") // of no parent: refused when it commits
		if err := tx.Commit(); err == nil {
			p.t.Error("it was committed")
		}
		if err := c.Close(); err != nil {
			p.t.Error(err)
		}
	}},
}

// TestConnector runs each case with the driver as it is, and with one that has no optional
// interface at all.
func TestConnector(t *testing.T) {
	want, err := os.ReadFile("testdata/connector.txt")
	must(t, err)
	for _, v := range []struct {
		name string
		wrap func(driver.Connector) driver.Connector
	}{
		{"all interfaces", func(c driver.Connector) driver.Connector { return c }},
		{"bare", func(c driver.Connector) driver.Connector { return bareConnector{c} }},
	} {
		t.Run(v.name, func(t *testing.T) {
			var got strings.Builder
			for _, c := range cases {
				if v.name == "bare" && c.name == "asked for a level" {
					got.WriteString("== " + c.name + "\ncommitted SERIALIZABLE\n") // no such driver can
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					r, kept := testcapture.New(t)
					inner := capture.DSN(&sqlite.Driver{}, filepath.Join(t.TempDir(), "db")+"?_pragma=foreign_keys(1)")
					db := sql.OpenDB(capture.Connector(v.wrap(inner), r))
					defer db.Close()
					must(t, db.PingContext(t.Context()))
					for _, query := range []string{
						"CREATE TABLE stock (id integer PRIMARY KEY, n integer, version text)", "CREATE TABLE parent (id integer PRIMARY KEY)",
						"CREATE TABLE child (id integer REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)",
					} {
						_, err := db.ExecContext(t.Context(), query)
						must(t, err)
					}
					c.run(place{t, db, r})
					db.Close()
					got.WriteString("== " + c.name + "\n" + kept.Text(t))
				})
			}
			if got.String() != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
			}
		})
	}
}

// A classifier that knows the driver's errors says aborted; without one the outcome is
// unknown, and the connection is not used again.
func TestOutcomeOfCommit(t *testing.T) {
	for _, c := range []struct {
		options []capture.ConnectorOption
		want    string
		opened  int
	}{
		{nil, "unknown\n", 2},
		{[]capture.ConnectorOption{capture.WithOutcome(func(err error) capture.Status {
			if !errors.Is(err, errLost) {
				t.Errorf("the classifier is given %v", err)
			}
			return capture.Aborted
		})}, "aborted\n", 1},
	} {
		r, kept := testcapture.New(t)
		failing := &failingConnector{Connector: capture.DSN(&sqlite.Driver{}, filepath.Join(t.TempDir(), "db"))}
		db := sql.OpenDB(capture.Connector(failing, r, c.options...))
		tx, err := db.BeginTx(t.Context(), nil)
		must(t, err)
		if err := tx.Commit(); !errors.Is(err, errLost) {
			t.Error(err)
		}
		must(t, db.PingContext(t.Context()))
		must(t, db.Close())
		if got := kept.Text(t); got != c.want || failing.opened != c.opened {
			t.Errorf("%swith %d connections, want %swith %d", got, failing.opened, c.want, c.opened)
		}
	}
}

// Without a recorder, and without capture, the same program runs.
func TestNotCaptured(t *testing.T) {
	for _, wrap := range []func(driver.Connector) driver.Connector{
		func(c driver.Connector) driver.Connector { return c },
		func(c driver.Connector) driver.Connector { return capture.Connector(c, nil) },
	} {
		db := sql.OpenDB(wrap(capture.DSN(&sqlite.Driver{}, filepath.Join(t.TempDir(), "db"))))
		defer db.Close()
		p := place{t, db, nil}
		p.exec(db, "CREATE TABLE stock (id integer PRIMARY KEY, n integer, version text)")
		tx := p.begin(capture.WithSession(t.Context(), p.r.Session("none")), nil)
		p.put(tx, 5)
		capture.Of(t.Context(), tx).Read("stock/1", 5)
		must(t, tx.Commit())
		var n int
		if found, err := stock.Get(t.Context(), rows.SQL(db), 1, &n); !found || err != nil || n != 5 {
			t.Errorf("%d, %v, %v", n, found, err)
		}
	}
}

// bareConnector makes connections with what a driver must have, and nothing else.
type bareConnector struct{ driver.Connector }

func (c bareConnector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	return bareConn{inner}, err
}

type bareConn struct{ inner driver.Conn }

func (c bareConn) Prepare(query string) (driver.Stmt, error) {
	s, err := c.inner.Prepare(query)
	if err != nil {
		return nil, err
	}
	return bareStmt{s}, nil
}
func (c bareConn) Close() error              { return c.inner.Close() }
func (c bareConn) Begin() (driver.Tx, error) { return c.inner.Begin() }

type bareStmt struct{ inner driver.Stmt }

func (s bareStmt) Close() error                                    { return s.inner.Close() }
func (s bareStmt) NumInput() int                                   { return s.inner.NumInput() }
func (s bareStmt) Exec(args []driver.Value) (driver.Result, error) { return s.inner.Exec(args) }
func (s bareStmt) Query(args []driver.Value) (driver.Rows, error)  { return s.inner.Query(args) }

// failingConnector makes connections whose commits fail as if the connection was lost.
type failingConnector struct {
	driver.Connector
	opened int
}

func (c *failingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c.opened++
	inner, err := c.Connector.Connect(ctx)
	return failingConn{inner}, err
}

type failingConn struct{ driver.Conn }

func (c failingConn) Begin() (driver.Tx, error) {
	tx, err := c.Conn.Begin()
	return failingTx{tx}, err
}

type failingTx struct{ driver.Tx }

func (t failingTx) Commit() error { return errors.Join(errLost, t.Rollback()) }
