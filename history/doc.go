// Package history reads and writes recorded histories in the formats of other checkers. So the
// same history can be given to Isowatch and to its peers.
//
// A reader fills an [event.Batch] as the decoder of package event does. A format may have
// conventions, such as an initial value of 0. The record then says what that means: a read of
// the initial value found nothing. docs/format.md lists the formats.
package history
