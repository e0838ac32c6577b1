package sum

import "testing"

func TestSum(t *testing.T) {
	if n := Sum([]int{1, 2, -5, 97}); n != 100 {
		t.Errorf("sum is %d", n)
	}
}
