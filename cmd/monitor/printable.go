package main

import (
	"strconv"
	"strings"
	"unicode"
)

// printable is text that came with records, with what could steer a terminal
// written out.
func printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// printableLines is printable for a text of lines, with the tabs of a trace.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		parts := strings.Split(lines[i], "\t")
		for j := range parts {
			parts[j] = printable(parts[j])
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}
