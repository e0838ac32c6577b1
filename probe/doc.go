// Package probe runs a small workload on a database and records what it sees. `monitor probe`,
// `monitor workload`, probes of the service, and tests against live databases stand on it.
//
// A program with a database of its own implements [Client], which takes a whole transaction at
// a time, and makes a Database of it by [Clients]. A [Database] opens [Session]s. Each is used
// by one goroutine. [Run] gives every session a stream of transactions of a [Workload] and
// hands the record of each one (package event) to its caller; package check judges them. [SQL]
// is a Database over database/sql; the packages below this one know the drivers.
//
// A record has the outcome as the client knows it: see [Session.Commit].
package probe
