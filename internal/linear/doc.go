// Package linear decides whether the operations on one register or list are linearizable
// (Herlihy and Wing). Then each can be given an instant between its call and its return, and
// the results are the same as on a sequential object.
//
// The orders are searched as Wing and Gong, and Lowe, do. Operations that were called before
// any other returned are tried in turn. A set of operations with a state is tried once, within
// a budget.
//
// Where each operation says what it replaced or read, one order is left, and is looked at
// alone: MTC, algorithm 2.
//
// It knows values as texts, and times as numbers: no clock, no I/O.
package linear
