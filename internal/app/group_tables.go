package app

// tableStep is by how much the sum has to change, until it is told.
const tableStep = 16 * mib

// A member that may come to own more than manyUnits has small tables in memory. A calm unit fills its table within hours, and each
// has its own.
const (
	manyUnits  = 16
	smallTable = 4 * mib // a commit takes 15% of it: a piece of a step is 512 KiB at most
)

// tableOf is the size of the table in memory of a unit's store; 0: the store's own.
func tableOf(table int64, units int) int64 {
	if units > manyUnits {
		return smallTable
	}
	return table
}

// reserve says how many bytes of the heap are set aside for tables of units' stores, and were not touched. A store makes its
// table in memory at once. The table of a calm unit stays empty for hours, and takes no memory of the machine until then.
func (g *Group) reserve() {
	if g.options.Reserve == nil {
		return
	}
	var bytes int64
	for _, u := range g.running() {
		u.mu.Lock()
		a := u.app
		u.mu.Unlock()
		if a != nil {
			bytes += untouched(a.budget.memTable, int64(a.store.Committed()))
		}
	}
	if diff := bytes - g.reserved; diff > -tableStep && diff < tableStep {
		return // to tell it stops the process for a moment
	}
	g.reserved = bytes
	g.options.Reserve(bytes)
}

// untouched is how much of a table in memory of this size was not written, after so many bytes of commits. Its nodes take half
// as much again. A full table is written out, and another one takes its place.
func untouched(table, committed int64) int64 {
	if table <= 0 {
		return 0
	}
	return table - committed*3/2%table
}
