// Package probe runs a small workload on a database and records what it sees: the
// client of tests against live databases.
//
// A [Database] opens [Session]s, of which each is used by one goroutine. [Run] gives
// every session a stream of transactions of a [Workload] and hands the record of each
// one (package event) to its caller. [SQL] is a Database over database/sql; the
// packages below this one know the drivers.
//
// What a record says of an outcome is what the client knows: see [Session.Commit].
package probe
