// Package sum is one to mutate: its tests miss some of its mutants.
package sum

const most = 100

// Sum adds the positive ones, as long as the sum is at most 100.
func Sum(all []int) (sum int) {
	for _, n := range all {
		if n > 0 && sum+n <= most {
			sum += n
		}
	}
	note(sum)
	return sum
}

var latest int

func note(n int) { latest = n }

// Unused is reached by no test.
func Unused() bool { return latest == 0 }
