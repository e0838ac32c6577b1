package finding

import "testing"

func TestCounted(t *testing.T) {
	for n, want := range map[int64]string{0: "0 reads depend", 1: "1 read depends", 2: "2 reads depend", -1: "-1 reads depend"} {
		if got := Counted(n, "read depends", "reads depend"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
