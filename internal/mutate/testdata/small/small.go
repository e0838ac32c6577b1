// Package small has what is no mutant: bits, names, the greatest number of a type.
package small

type kind int

const (
	first kind = iota
	second
)

// Least is n, and at most 255: a byte that is one more does not compile.
func Least(n uint8) uint8 { return min(n, 255) }

// Bits are no numbers.
func Bits(all int, k kind) int {
	switch k {
	case first:
		all |= 4
	case second:
		return all &^ 2
	}
	return all
}

// Each calls fn until 3.
func Each(all []int, fn func(int)) {
	for _, n := range all {
		if n == 3 {
			break
		}
		fn(n)
	}
}
