package finding

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine is text of a record as part of a text of lines: its line ends are written out. Otherwise a key or
// an id could look like a line of ours.
func OneLine(text string) string { return strings.ReplaceAll(text, "\n", `\x0a`) }

// Visible is text with control and formatting characters, and bytes that are
// not UTF-8, written out.
func Visible(text string) string {
	if !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && text[i] != 0xef:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden: category C (control, format as the bidirectional marks, surrogates)
// and the line separators.
func hidden(r rune) bool {
	return unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// OneWord is a key between other words. One that has blanks, commas or quotes would look like several words,
// and is quoted.
func OneWord(key string) string {
	if key == "" || strings.ContainsAny(key, " \t\r\n,\"") {
		return strconv.Quote(key)
	}
	return key
}
