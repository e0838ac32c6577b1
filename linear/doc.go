// Package linear decides whether the operations on one register or list are
// linearizable (Herlihy and Wing): whether each can be given an instant between its
// call and its return such that all results are those of a sequential object.
//
// The orders are searched as Wing and Gong, and Lowe, do: operations that were called before any other returned
// are tried in turn, a set of operations and a state being tried once, within a
// budget.
//
// Where each operation says what it replaced or read, one order is left, and is looked at
// alone: MTC, algorithm 2.
//
// It knows values as texts, and times as numbers: no clock, no I/O.
package linear
