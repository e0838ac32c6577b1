package app

// tableStep is by how much the sum has to change, until it is told.
const tableStep = 16 * mib

// A member that may come to own more than manyUnits, or that has less than muchMemory for each, has small tables in memory. A busy
// unit has up to four of its own, and needs as much to write one out.
const (
	manyUnits  = 16
	muchMemory = 256 * mib
	smallTable = 4 * mib // a commit takes 15% of it: a piece of a step is 512 KiB at most
	smallStep  = 256 << 10
)

// stepOf is how many bytes of records a step of one of so many units has at most; 0: the engine's own. A machine gives way once in a
// step, and what a full step brings takes 30 MB.
func stepOf(memory int64, units int) int {
	if memory > 0 && memory/int64(units) < muchMemory {
		return smallStep
	}
	return 0
}

// tableOf is the size of the table in memory of the store of one of so many units; 0: the store's own. memory is of the process; 0: any amount.
func tableOf(table, memory int64, units int) int64 {
	if units > manyUnits || memory > 0 && memory/int64(units) < muchMemory {
		return smallTable
	}
	return table
}

// reserve says how many bytes of the heap are set aside for tables of units' stores, and were not touched. A store makes its
// table in memory at once. Most of the table of a calm unit is never touched, and takes no memory of the machine.
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
			bytes += a.store.Untouched()
		}
	}
	if diff := bytes - g.reserved; diff > -tableStep && diff < tableStep {
		return // to tell it stops the process for a moment
	}
	g.reserved = bytes
	g.options.Reserve(bytes)
}
