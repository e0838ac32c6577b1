package pattern

// minHex is how many hexadecimal digits make a long number. At least one of them is a
// decimal digit, so that no word is taken for one.
const minHex = 8

// AppendNormal appends text with some parts replaced by "#". They are each UUID (8-4-4-4-12
// hexadecimal digits) and each run of decimal digits. Each word of minHex or more hexadecimal
// digits with a decimal one is replaced too. A word is a longest run of letters, digits and
// bytes beyond ASCII. O(len(text)).
func AppendNormal(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if !inWord(text[i]) {
			dst = append(dst, text[i])
			i++
			continue
		}
		if n := uuid(text[i:]); n > 0 {
			dst = append(dst, '#')
			i += n
			continue
		}
		end, hex, digits := i, true, false
		for ; end < len(text) && inWord(text[end]); end++ {
			hex = hex && isHex(text[end])
			digits = digits || isDigit(text[end])
		}
		if hex && digits && end-i >= minHex {
			dst = append(dst, '#')
		} else {
			dst = appendDigits(dst, text[i:end])
		}
		i = end
	}
	return dst
}

// appendDigits appends word with each run of digits replaced.
func appendDigits(dst, word []byte) []byte {
	for i, c := range word {
		switch {
		case !isDigit(c):
			dst = append(dst, c)
		case i == 0 || !isDigit(word[i-1]):
			dst = append(dst, '#')
		}
	}
	return dst
}

// uuid is the length of the UUID that text begins with, as a word of its own; 0 if there
// is none.
func uuid(text []byte) int {
	const length = 36
	if len(text) < length || len(text) > length && inWord(text[length]) {
		return 0
	}
	for i, c := range text[:length] {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return 0
			}
		default:
			if !isHex(c) {
				return 0
			}
		}
	}
	return length
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

func inWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
