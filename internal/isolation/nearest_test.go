package isolation

import (
	"strings"
	"testing"
)

// A name that is not checked by itself is taken as a level that it implies: what the name allows, in any
// form, refutes nothing of that level. Allowed are what Adya's definitions leave out (PL-2.99 and
// cursor stability say nothing of predicates, consistent views nothing of a cycle with more anti-dependencies), and everything
// that rests on session order or real time.
func TestNearestIsImplied(t *testing.T) {
	const (
		overRanges  = "G-single G-nonadjacent G2"
		moreThanOne = "G-nonadjacent-item G-nonadjacent G2-item G2"
	)
	for names, allowed := range map[string]string{
		"repeatable-read, PL-2.99, RR":          overRanges,
		"cursor-stability, PL-CS":               overRanges + " internal " + moreThanOne,
		"PL-2L, PL-MSR":                         "lost-update " + moreThanOne,
		"PL-2+, PL-FCV, PSI, NMSI":              moreThanOne,
		"update-atomic, ROLA, repeatable reads": moreThanOne,
		"sequential, 1SR":                       "",
	} {
		for name := range strings.SplitSeq(names, ", ") {
			l, err := ParseLevel(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, anomaly := range strings.Fields(allowed) {
				if l.Forbids(anomaly) != Allowed {
					t.Errorf("%s allows %s, and is taken as %v, which does not", name, anomaly, l)
				}
			}
			if name != "sequential" && (l.Family != Plain || l.Special != 0) {
				t.Errorf("%s says nothing of sessions or time, and is taken as %v", name, l)
			}
		}
	}
}
