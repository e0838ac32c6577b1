package target

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/isowatch/isowatch/probe"
)

// Options say how a database is opened. Zero fields take the default named.
type Options struct {
	Epoch     string        // lower-case letters and digits; names the tables
	Schema    string        // default isowatch_probe
	Isolation string        // SQL's words, as in "repeatable read"; default: the database's own, which is asked for
	Password  string        // takes the place of the URL's
	Endpoints []string      // URLs of replicas or nodes of the same database; default none
	Stale     bool          // reads of replicas are declared stale
	Timeout   time.Duration // of a statement; default 10 s
	Sessions  int           // connections an endpoint, at most; default 8
	// Log gets what children of exec: write on standard error; default: nobody does.
	Log func(line string)
}

func (o Options) withDefaults() Options {
	if o.Schema == "" {
		o.Schema = "isowatch_probe"
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Sessions == 0 {
		o.Sessions = 8
	}
	return o
}

// Target is a database that is ready for [probe.Fill] and [probe.Run].
type Target struct {
	probe.Database
	Product   string // as package isolation names it: postgresql, mysql, mariadb, sqlite, or sim; "" is not known
	Version   string // as the product says it; "" is not known
	Setting   string // as package isolation names it: repeatable-read
	Isolation string // the same in SQL's words: repeatable read
	Replicas  bool   // some endpoints follow another server

	endpoints []probe.Endpoint // the database and others; none: it is alone
	close     func() error
}

// Expect is the level that the product documents for the setting, as --expect takes it:
// postgresql/repeatable-read, or a level. "" says that the product is not known.
func (t *Target) Expect() string {
	switch {
	case t.Product == "" || t.Setting == "":
		return ""
	case t.Product == sim:
		return t.Setting
	case t.Replicas:
		return t.expectOfReplicas()
	}
	return t.Product + "/" + t.Setting
}

// expectOfReplicas is the level that primary and replicas promise together. A replica of MySQL
// or MariaDB shows states that its primary had. But a session may miss its own writes there,
// and replicas may commit in different orders.
func (t *Target) expectOfReplicas() string {
	committed := t.Setting
	if committed == "read-uncommitted" && t.Product == "postgresql" {
		committed = "read-committed" // the same in PostgreSQL
	}
	switch {
	case t.Product == "postgresql":
		return t.Product + "/" + committed + "-with-replicas"
	case committed == "read-uncommitted":
		return committed
	}
	return "read-committed"
}

// Limits implements [probe.Limited].
func (t *Target) Limits() probe.Limits {
	if l, limited := t.Database.(probe.Limited); limited {
		return l.Limits()
	}
	return probe.Limits{}
}

// Err says that another probe has dropped the tables, since the connection was lost that held
// the lock: no session can be opened any more. Until then it is nil.
func (t *Target) Err() error {
	if e, locked := t.Database.(interface{ Err() error }); locked {
		return e.Err()
	}
	return nil
}

// Close drops the tables, releases the lock and closes all connections.
func (t *Target) Close() error { return t.close() }

// Open connects, asks for product, version and setting, keeps other probes out, and drops
// tables of earlier epochs. An error is one sentence without secrets.
func Open(ctx context.Context, url string, o Options) (*Target, error) {
	o = o.withDefaults()
	if err := fits(url, o.Endpoints); err != nil {
		return nil, err
	}
	switch kindOf(url) {
	case "postgres":
		return openPostgres(ctx, url, o)
	case "mysql":
		return openMySQL(ctx, url, o)
	case "sqlite":
		return openSQLite(ctx, url, o)
	case "sim":
		return openSim(url, o)
	case "exec":
		return openCommand(url, o)
	}
	return nil, unknown(url)
}

// unknown is the error of a URL that names nothing that can be probed.
func unknown(url string) error {
	if !strings.Contains(url, "://") {
		return errors.New("the URL names no database that can be probed: begin it with postgres://, mysql:// or mariadb://, or give sqlite:///FILE, sim:LEVEL or exec:COMMAND")
	}
	return fmt.Errorf("the URL %q names no database that can be probed: want postgres://, mysql://, mariadb://, sqlite:///FILE, sim:LEVEL or exec:COMMAND", Redact(url))
}

func scheme(url string) string {
	before, _, found := strings.Cut(url, ":")
	if !found {
		return ""
	}
	return before
}

// words are a level's in SQL, from what a person or a database calls it: REPEATABLE-READ.
func words(name string) string {
	return strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToLower(strings.TrimSpace(name)))
}

// setting is the level as package isolation names it.
func setting(words string) string { return strings.ReplaceAll(words, " ", "-") }
