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
