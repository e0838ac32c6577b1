// Package causes knows whom a reader can have read from. It has two types, over the ledger.
//
// [Absences] has what no record has told yet: attempts without a record, what waits for a record, and patterns of
// keys whose values repeat. Some findings rest on the absence of a record: aborted, garbage and duplicate reads. They
// wait until the watermark has passed the reader's end; see absence.go.
//
// [Causes] goes by time and by what others saw, since cause precedes effect. It owns what was found in a key
// before its first delete (found_before.go).
//
// A package below the kinds of data asks a kind by [Above].
package causes
