package oracle

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestDuplicateValuesAgreeWithBruteForce: where several transactions wrote one value, the
// writers that are tried decide at every level, as all orders of commits do.
func TestDuplicateValuesAgreeWithBruteForce(t *testing.T) {
	opt := Small()
	opt.Lists, opt.Max = false, 5
	rng := rand.New(rand.NewPCG(51, 52))
	held, fell := map[Level]int{}, map[Level]int{}
	for i := range testrun.Size(250, 4000) {
		opt.Blind, opt.Repeat = []float64{0.1, 0.5, 0.9}[i%3], []float64{0.3, 0.6}[i%2]
		h := Random(rng, opt)
		if choices, _ := Dependencies(h).choices(); len(choices) == 0 {
			continue
		}
		why := func(h History) string {
			v := Check(h)
			for _, l := range append(AllLevels(), SaturatedLevels()...) {
				trial := Possible
				if !l.forbids("prefix") && !l.limits() && l.forbids(AtomicView) {
					trial = PossibleSaturated
				}
				possible, err := trial(h, l)
				switch {
				case err != nil:
					return err.Error()
				case possible && v.Violated[l]:
					return string(l) + ": false alarm"
				case !possible && !v.Violated[l] && v.Exact(l):
					return string(l) + ": missed"
				case possible:
					held[l]++
				case v.Violated[l]:
					fell[l]++
				}
			}
			return ""
		}
		if why(h) != "" {
			small := Shrink(h, func(h History) bool { return why(h) != "" })
			t.Fatalf("%s\n%s", why(small), small.Text())
		}
	}
	for _, l := range append(AllLevels(), SaturatedLevels()...) {
		if held[l] < testrun.Least(200) || fell[l] < testrun.Least(20) {
			t.Errorf("%s held %d times and fell %d times: too few to tell", l, held[l], fell[l])
		}
	}
}
