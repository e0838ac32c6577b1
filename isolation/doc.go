// Package isolation holds the isolation levels, how they are encoded over the
// incremental order, and what is said of a violation: its name, the levels that
// its witness refutes, the explanation, and the proof that separate code checks.
//
// Names of anomalies are Elle's (elle.txn, elle.consistency-model); names of
// levels are those of docs/proofs.md.
package isolation
