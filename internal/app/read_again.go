package app

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/tape"
)

// Bounds of what a page reads again of the input.
const (
	mostAgain = 16       // records of a finding
	longAgain = 64 << 10 // bytes of a record
)

// readAgain adds the records that had left the tape when a finding was made, and that are lines of files which are still
// there. A line counts if it has the id of the record: the file may have been replaced.
func readAgain(f *finding.Finding) {
	if f.Hidden || f.NoEvidence {
		return
	}
	s := tape.NewSearch([]finding.Finding{*f})
	left := mostAgain
	for _, id := range f.Txns {
		position := f.Positions[id]
		if position == "" || left == 0 || slices.ContainsFunc(f.Raw, func(r finding.Raw) bool { return r.Txn == id }) {
			continue
		}
		if line := lineAt(position); line != nil {
			s.Line(line, f.Source, position)
			left--
		}
	}
	for _, r := range s.Raws()[0] {
		if f.Positions[r.Txn] == r.Position && !slices.ContainsFunc(f.Raw, func(old finding.Raw) bool { return old.Txn == r.Txn }) {
			f.Raw = append(f.Raw, r)
		}
	}
}

// lineAt is the line at a position in a file, nil if there is none.
func lineAt(position string) []byte {
	at := strings.LastIndexByte(position, ':')
	path, isFile := strings.CutPrefix(position[:max(at, 0)], "file:")
	offset, err := strconv.ParseInt(position[at+1:], 10, 64)
	if !isFile || err != nil {
		return nil
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() <= offset {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, offset, longAgain))
	line, _, ends := bytes.Cut(text, []byte{'\n'})
	if err != nil || !ends {
		return nil
	}
	return line
}
