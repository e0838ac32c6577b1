package main

import (
	"fmt"
	"strings"
)

// summary is a table at the end of an answer on several files: the first row names the columns.
type summary [][]string

func (s *summary) add(cells ...string) { *s = append(*s, cells) }

// append appends the table, if there is more than one file.
func (s summary) append(dst []byte) []byte {
	if len(s) < 3 {
		return dst
	}
	widths := make([]int, len(s[0]))
	for _, row := range s {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	if len(dst) > 0 {
		dst = append(dst, '\n')
	}
	for _, row := range s {
		var b strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&b, "%-*s  ", widths[i], cell)
		}
		dst = append(dst, strings.TrimRight(b.String(), " ")+"\n"...)
	}
	return dst
}
