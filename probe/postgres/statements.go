package postgres

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/probe/epoch"
)

// Statements are all that a probe runs on a database, in the order in which each comes
// first. Lines that begin with "--" say when.
func Statements(o EpochOptions) []string {
	begin := "BEGIN"
	if o.Isolation != "" {
		begin += " ISOLATION LEVEL " + strings.ToUpper(o.Isolation)
	}
	look := begin
	if o.Isolation == "serializable" {
		look = "BEGIN ISOLATION LEVEL REPEATABLE READ" // a hot standby refuses the other one
	}
	d := epochDialect(o.Schema, o.Epoch)
	all := []string{"-- each connection"}
	for _, s := range o.settings() {
		all = append(all, fmt.Sprintf("SET %s = '%s'", s[0], s[1]))
	}
	all = append(all, "-- at the start", askVersion, askReadOnly, begin, askIsolation, "ROLLBACK", tryLock, schemaThere,
		"-- where the schema is not there", createSchema(o.Schema),
		"-- where it is there; tables of earlier epochs are dropped", mayUse, listTables,
		"-- the tables and the transactions")
	all = append(all, d.Statements()...)
	drop := "DROP TABLE " + d.Prefix + strings.Join(epoch.Names(), ", "+d.Prefix)
	return append(all, begin, "COMMIT", "ROLLBACK", d.ReadOnly, "-- at a server that takes no writes", look+" READ ONLY", "-- at the end", listTables, drop)
}
