package finding

import "fmt"

// Counted is so many of what one and many name: the words behind the number.
func Counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
