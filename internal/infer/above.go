package infer

// Above are the kinds of data that have a room of their own. The rooms below know no more of them than this: what
// is to be done when something happens to a key or a version of that kind. [New] fills it in.
type Above struct {
	List    List
	Set     Set
	Counter Counter
}

// List is what the rooms below ask of lists.
type List interface {
	// Settle makes n the one writer of the element v, by the given write record. If again is true, another
	// element of n in this list was settled just before.
	Settle(v, write, n uint32, again bool)
	// Dispute takes back what rests on w being the only possible writer of the element v.
	Dispute(v, w uint32)
	// Unsettle takes the element v from its writer, which does not count any more.
	Unsettle(v uint32)
	// Freeze lets go of the first elements of the list k, as far as no live transaction needs them.
	Freeze(k uint32)
	// Replaced takes back what rests on k having been appended to only.
	Replaced(k uint32)
}

// Set is what the rooms below ask of sets.
type Set interface {
	// Replaced takes back what rests on k having been added to and removed from only.
	Replaced(k uint32)
}

// Counter is what the rooms below ask of counters.
type Counter interface {
	// Loosen notes that the order of k's increments is not known.
	Loosen(k uint32)
}
