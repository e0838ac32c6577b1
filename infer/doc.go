// Package infer turns transactions into dependencies: which version each read
// saw, who installed it, and what is known of the order of the versions of a
// key. It takes transactions in any order of arrival and gives edges as soon as
// both ends are present.
//
// Registers. A transaction that reads a key and then writes it names the
// predecessor of what it wrote (MTC, section IV-A: in mini-transaction histories
// every write follows a read of its key, so the version order of a key is the
// chain of these steps). Two transactions that read one version and both
// overwrite it are the divergence pattern (MTC, definition 10 and lemma 1). A
// write without a read before it is blind: its place among the versions is not
// known and gives no edge, but what read it and what overwrote it after reading
// does.
//
// Lists. Every read of a list shows all its elements in order, so one read
// orders every append before it (Elle, section 4.1.6 on traceability, and 5.1).
// The longest read seen so far is the key's spine. A committed append that a
// read does not show comes after what it shows (Elle, section 5.1).
//
// The initial version of a key comes before all others (Elle, section 5.2).
//
// What rests on the absence of a record (aborted, garbage and duplicate reads)
// waits until the watermark has passed the reader's end; see absence.go.
//
// Edges name their evidence: the version that they are about, and for the order
// of two appends the read that showed it.
package infer
