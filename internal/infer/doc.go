// Package infer turns transactions into dependencies. It finds the version that each read saw, and the
// writer of that version. It also finds the order of the versions of a key, as far as the records show
// it. It takes transactions in any order of arrival and gives edges as soon as both ends are present.
//
// This package takes whole records. Its types are over each other, and New puts them together:
//
//	kinds    takes an operation, and finds out the kind of its key (kinds.go, keykind.go, count.go)
//	memory   lets go of what is settled, writes it to disk, and takes it in again (retire.go, spill*.go, snapshot.go)
//	State    takes a record, and decides outcomes (add.go, outcome.go); answers what package window asks
//
// What single operations prove is in the packages below:
//
//	ledger      the rows: transactions, sessions, keys, versions, who wrote and read them
//	causes      whom a reader can have read from
//	orders      versions in an order that records give
//	registers   whole values: reads, writes, deletes, and values with several writers
//	lists sets counters linear   beside each other, each over registers
//
// Edges name their evidence: the version that they are about, and for the order of two appends
// the read that showed it.
package infer
