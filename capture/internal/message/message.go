// Package message makes broker messages of records: several a message, one a line.
package message

import (
	"bytes"

	"github.com/isowatch/isowatch/capture"
)

// Deliver sends lines in messages of at most limit bytes; a longer line is a message of its
// own. A message that the broker finds too large is sent again line by line. Lines that are too
// large one by one are counted in a [capture.Rejected]. Another error of send ends it.
func Deliver(lines [][]byte, limit int, send func(message []byte) error, tooLarge func(error) bool) error {
	var rejected capture.Rejected
	for len(lines) > 0 {
		n := fit(lines, limit)
		err := send(bytes.Join(lines[:n], []byte{'\n'}))
		switch {
		case err == nil:
		case !tooLarge(err):
			return err
		case n > 1:
			limit = 0 // from here on each by itself
			continue
		default:
			rejected.Lines, rejected.Err = rejected.Lines+1, err
		}
		lines = lines[n:]
	}
	if rejected.Lines > 0 {
		return &rejected
	}
	return nil
}

// fit is how many of lines a message of at most limit bytes holds, at least one.
func fit(lines [][]byte, limit int) int {
	size := 0
	for i, line := range lines {
		if size += len(line) + 1; size > limit && i > 0 {
			return i
		}
	}
	return len(lines)
}
