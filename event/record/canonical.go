package record

import (
	"unicode/utf16"
	"unicode/utf8"
)

// The canonical text of a value has no white space between its parts, numbers as written, and
// fields in the order written. Strings are UTF-8, with an escape only for the quote, the
// backslash and control characters (\b \f \n \r \t, else \u00xx in lower case). Two strings are
// equal exactly if these texts are.

// AppendCanonical appends the canonical text of v, which must be one valid JSON
// value.
func AppendCanonical(dst, v []byte) []byte {
	for i := 0; i < len(v); {
		switch c := v[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
		case '"':
			end := stringEnd(v, i)
			dst = append(dst, '"')
			dst = appendCanonicalString(dst, v[i+1:end-1])
			dst = append(dst, '"')
			i = end
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// stringEnd is the offset behind the string at i in v, which was scanned.
func stringEnd(v []byte, i int) int {
	for i++; v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// appendCanonicalString appends the canonical form of s, the inside of a JSON
// string that was scanned.
func appendCanonicalString(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			dst = append(dst, s[i])
			i++
			continue
		}
		r, n := unescape(s[i:])
		dst = appendEscaped(dst, r)
		i += n
	}
	return dst
}

// AppendUnescaped appends the text that s, the inside of a valid JSON string,
// stands for.
func AppendUnescaped(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			dst = append(dst, s[i])
			i++
			continue
		}
		r, n := unescape(s[i:])
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst
}

// unescape reads the escape that s begins with, and its length.
func unescape(s []byte) (rune, int) {
	switch s[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, _ := Hex4(s[2:])
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		low, _ := Hex4(s[8:])
		return utf16.DecodeRune(r, low), 12
	default: // the quote, the slash and the backslash stand for themselves
		return rune(s[1]), 2
	}
}

// Hex4 reads the four hexadecimal digits that s begins with; ok is false where
// they are none. s has at least 4 bytes.
func Hex4(s []byte) (r rune, ok bool) {
	for _, c := range s[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c-'a' <= 5:
			c -= 'a' - 10
		case c-'A' <= 5:
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// appendEscaped appends r as a canonical string holds it.
func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if r < ' ' {
		const digits = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// AppendQuoted appends the raw text s as a canonical JSON string.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			dst = appendEscaped(dst, rune(c))
		} else {
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
