// Package history reads recorded histories in the formats of other checkers, and
// writes them, so that the same history can be given to Isowatch and to its peers.
//
// A reader fills an [event.Batch] as the decoder of package event does. What a
// format means by its conventions, an initial value of 0 for example, is said by
// the record: a read of it found nothing. docs/format.md lists the formats.
package history
