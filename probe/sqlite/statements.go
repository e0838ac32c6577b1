package sqlite

import (
	"strings"

	"github.com/isowatch/isowatch/probe/epoch"
)

// Statements are all that a probe runs on a file, in the order in which each comes first.
// Lines that begin with "--" say when.
func Statements(file, name string) []string {
	d := dialect(tablesPrefix + name + "_")
	all := []string{"-- in " + lockFile(file), takeFile, "-- each connection", "PRAGMA " + patience,
		"-- at the start; tables of earlier epochs are dropped", listTables, "-- the tables and the transactions"}
	all = append(all, d.Statements()...)
	return append(all, "BEGIN", "COMMIT", "ROLLBACK", "-- at the end", listTables,
		"DROP TABLE "+d.Prefix+strings.Join(epoch.Names(), "; DROP TABLE "+d.Prefix))
}
