// Package sets takes adds, removes, and reads of sets. It also takes ranges: reads of all keys between two bounds.
//
// An element of a set is a key of its own, a register that is there or not. Both reads are scans, which also
// show what is not there. The package owns the scans, and the order of the keys by their names, once there
// was a range: see scan.go.
package sets
