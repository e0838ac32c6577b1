package epoch

import (
	"fmt"
	"regexp"
)

// Mark is the comment of what a probe makes: a table without it is somebody else's.
const Mark = "isowatch probe: dropped when the next one begins"

var (
	name  = regexp.MustCompile(`^[a-z0-9]{1,32}$`)
	table = regexp.MustCompile(`^[a-z0-9]{1,32}_(registers|lists|counters)$`)
)

// Check refuses an epoch that cannot begin a table's name. It must have 1 to 32 lower-case
// letters and digits.
func Check(epoch string) error {
	if !name.MatchString(epoch) {
		return fmt.Errorf("the epoch %q: want 1 to 32 lower-case letters and digits", epoch)
	}
	return nil
}

// Table is one of a schema.
type Table struct{ Name, Comment string }

// Ours are the names of tables, unless one of them is somebody else's: a schema of a probe
// holds nothing but its tables.
func Ours(schema string, tables []Table) ([]string, error) {
	var names []string
	for _, t := range tables {
		if !table.MatchString(t.Name) || t.Comment != Mark {
			return nil, fmt.Errorf("the schema %q holds the table %q, which no probe has made: name another schema", schema, t.Name)
		}
		names = append(names, t.Name)
	}
	return names, nil
}

// Names are the names of an epoch's tables, behind the epoch's name.
func Names() []string { return []string{"registers", "lists", "counters"} }
