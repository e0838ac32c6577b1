package target

import (
	"github.com/isowatch/isowatch/probe/child"
	"github.com/isowatch/isowatch/probe/epoch"
	"github.com/isowatch/isowatch/probe/mysql"
	"github.com/isowatch/isowatch/probe/postgres"
	"github.com/isowatch/isowatch/probe/sqlite"
)

// Statements are all that a probe runs on the database, in the order in which each comes
// first, without connecting. Lines that begin with "--" say when. A command is told by
// examples of what it gets; what is simulated has none.
func Statements(url string, o Options) ([]string, error) {
	o = o.withDefaults()
	if err := epoch.Check(o.Epoch); err != nil {
		return nil, err
	}
	if err := fits(url, o.Endpoints); err != nil {
		return nil, err
	}
	switch scheme(url) {
	case "postgres", "postgresql":
		return postgres.Statements(postgresOptions(o)), nil
	case "mysql", "mariadb":
		return mysql.Statements(scheme(url), mysqlOptions(o)), nil
	case "sqlite":
		file, err := sqliteFile(url)
		if err != nil {
			return nil, err
		}
		return sqlite.Statements(file, o.Epoch), nil
	case "exec":
		return child.Requests(o.Epoch + "/"), nil
	case "sim":
		return nil, nil
	}
	return nil, unknown(url)
}
