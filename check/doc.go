// Package check judges recorded transactions in Go tests: does this database, or this
// store of ours, keep the isolation level that it promises?
//
//	result, err := check.History(records, check.Levels(check.Serializable))
//	if err != nil {
//		t.Fatal(err) // a record that is none, or a level that does not exist
//	}
//	if result.Verdict() != check.OK {
//		t.Error(result) // verdicts, and each finding with the operations that contradict each other
//	}
//
// It gives the verdicts of the command monitor check, by the same code. It starts no
// goroutine, opens no connection and writes no file; calls may run beside each other.
// All that it is given stays in memory until it returns: some 2 KB a transaction of four operations.
//
// # What to record
//
// One [event.Record] a transaction, as its client saw it; docs/format.md says what each
// field means. Three things decide what a verdict is worth:
//
//   - Status is the outcome as the client knows it. A commit that timed out is [event.Unknown], never
//     [event.Aborted].
//   - Every write of a key installs a value of its own, so that a read names its writer.
//     Read a register before you write it, or append to lists: the order of writes shows.
//   - Session and Seq belong to one single-threaded client. Without them the levels that
//     begin with "strong-session-" are [Unknown] at best. [Expect] of a product is one of these.
//
// Values are JSON texts: 7 is "7", and the text seven is "\"seven\"". A read that found nothing has
// the flag [event.NotFound], and a cas that took effect [event.Success].
//
// The history is taken to be whole: all transactions that wrote are in it, aborted ones too,
// and nothing was there before the first. [Contract] says otherwise.
//
// # Stability
//
// The functions, types, fields and constants of this package keep their names and meaning until
// the next major version. So do the fields of [event.Record], [event.RecordOp] and
// [finding.Finding] that docs/format.md and docs/findings.md name. Fields, levels and kinds of
// finding are added in minor versions. Verdicts are refined in minor versions too: a level that
// was Unknown may become OK or Violated when the checker learns more. Texts for people may
// change at any time: do not parse them.
package check
