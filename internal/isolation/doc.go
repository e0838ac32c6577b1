// Package isolation holds the isolation levels and their encodings over the incremental order.
// It also describes a violation: its name, the levels that its witness refutes, the
// explanation, and the proof that separate code checks.
//
// Names of anomalies are Elle's (elle.txn, elle.consistency-model); names of levels are as in
// docs/proofs.md.
package isolation
