package mysql

import (
	"strings"

	"github.com/isowatch/isowatch/probe/epoch"
)

// Statements are all that a probe runs on a server, in the order in which each comes first.
// Lines that begin with "--" say when.
func Statements(product string, o EpochOptions) []string {
	f := Facts{Product: product}
	d := epochDialect(o.Schema, o.Epoch)
	all := append([]string{"-- each connection"}, f.session(o.Isolation, o.Timeout)...)
	all = append(all, "-- at the start", showVariables, getLock, schemaThere,
		"-- where the schema is not there", createSchema(o.Schema),
		"-- where it is there; tables of earlier epochs are dropped", listTables,
		"-- the tables and the transactions")
	all = append(all, d.Statements()...)
	if level := levels[o.Isolation]; level != 0 {
		all = append(all, "SET TRANSACTION ISOLATION LEVEL "+strings.ToUpper(level.String()))
	}
	drop := "DROP TABLE " + d.Prefix + strings.Join(epoch.Names(), ", "+d.Prefix)
	return append(
		all,
		"START TRANSACTION",
		"COMMIT",
		"ROLLBACK",
		d.ReadOnly,
		"-- at a server that takes no writes",
		"START TRANSACTION READ ONLY",
		"-- at the end",
		listTables,
		drop,
	)
}
