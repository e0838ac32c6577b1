// Package registers takes reads and writes of whole values, and deletes. Elements of sets are registers too, and so
// are the readings of a counter.
//
// A transaction that reads a key and then writes it names the predecessor of its version. In
// mini-transaction histories every write follows a read of its key. So the version order of a key is
// the chain of these steps (MTC, section IV-A). Two transactions that read one version and both
// overwrite it are the divergence pattern (MTC, definition 10 and lemma 1). A write without a read
// before it is blind: its place among the versions is not known and gives no edge. Transactions that
// read the blind version, or that read and overwrote it, give edges.
//
// The initial version of a key comes before all others (Elle, section 5.2).
//
//   - register.go, overwrite.go: a read, a write, and which version it replaced
//   - written.go, nothing.go: inserts, deletes, compare-and-set; an empty read where there were deletes
//   - signs.go, attempts.go, glimpse.go: a value turns out not to name its writer
//   - keys.go: a key is met for the first time, or is given up
//   - absence.go: questions that waited for records are answered
//
// Versions of all kinds have writers. So this package also does, for all kinds, what follows when a version gets
// a second possible writer or loses one (ambiguity.go). The same is true of transactions that leave
// memory (retire.go).
package registers
