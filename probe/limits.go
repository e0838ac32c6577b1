package probe

// Limits say which operations a [Database] lacks. The zero Limits are for SQL tables, which
// lack none.
type Limits struct {
	// Whole: it takes transactions as a whole, so that no write can depend on a read, and none
	// is rolled back.
	Whole bool
	// NoLists, NoRows and NoCounters: it has no such objects, or no inserts, deletes and
	// ranges.
	NoLists, NoRows, NoCounters bool
}

// Limited is a [Database] that cannot do everything.
type Limited interface {
	Database
	Limits() Limits
}

// limitsOf are the traits of transactions that the database cannot run.
func limitsOf(db Database) traits {
	l, limited := db.(Limited)
	if !limited {
		return 0
	}
	var cannot traits
	for trait, is := range map[traits]bool{
		computes | givesUp: l.Limits().Whole, onLists: l.Limits().NoLists, onRows: l.Limits().NoRows, onCounters: l.Limits().NoCounters,
	} {
		if is {
			cannot |= trait
		}
	}
	return cannot
}
