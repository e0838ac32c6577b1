package causes

// Above are the kinds of data that have a package of their own. The packages below them call these methods
// when something happens to a key or a version of that kind. They know nothing else of a kind. Package infer
// fills it in.
type Above struct {
	List    List
	Set     Set
	Counter Counter
}

// List has the methods of lists that packages below call.
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

// Set has the methods of sets that packages below call.
type Set interface {
	// Replaced takes back what rests on k having been added to and removed from only.
	Replaced(k uint32)
}

// Counter has the methods of counters that packages below call.
type Counter interface {
	// Loosen notes that the order of k's increments is not known.
	Loosen(k uint32)
}
