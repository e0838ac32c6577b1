// Package lists takes appends, and reads of lists.
//
// Every read of a list shows all its elements in order. So one read orders every append
// before it (Elle, section 4.1.6 on traceability, and 5.1). The longest read seen so far is the
// key's spine. A committed append that a read does not show comes after all that it shows
// (Elle, section 5.1).
//
// The elements are versions of the ledger, and this package keeps no state beside them.
//
//   - list.go: an operation comes in
//   - spine.go: an element gets a writer, loses it, and leaves memory
//   - shown.go: the read that showed the order of elements is taken back, or replaced
//   - outlived.go: whether a delete that nobody saw may explain what a read lacks
package lists
