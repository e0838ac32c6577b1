// Package infer turns transactions into dependencies. It finds the version that each read saw, and the
// writer of that version. It also finds the order of the versions of a key, as far as the records show
// it. It takes transactions in any order of arrival and gives edges as soon as both ends are present.
//
// Registers. A transaction that reads a key and then writes it names the predecessor of its version. In
// mini-transaction histories every write follows a read of its key. So the version order of a key is
// the chain of these steps (MTC, section IV-A). Two transactions that read one version and both
// overwrite it are the divergence pattern (MTC, definition 10 and lemma 1). A write without a read
// before it is blind: its place among the versions is not known and gives no edge. Transactions that
// read the blind version, or that read and overwrote it, give edges.
//
// Lists. Every read of a list shows all its elements in order. So one read orders every append
// before it (Elle, section 4.1.6 on traceability, and 5.1). The longest read seen so far is the
// key's spine. A committed append that a read does not show comes after all that it shows
// (Elle, section 5.1).
//
// The initial version of a key comes before all others (Elle, section 5.2).
//
// Some findings rest on the absence of a record: aborted, garbage and duplicate reads. They
// wait until the watermark has passed the reader's end; see absence.go.
//
// Edges name their evidence: the version that they are about, and for the order of two appends
// the read that showed it.
package infer
