package whole

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestBrief: what a person is shown is the same where texts are made for that alone, and what is
// counted too.
func TestBrief(t *testing.T) {
	var text strings.Builder
	for i := range 30 {
		skew := strings.NewReplacer("T1", fmt.Sprint("T", i, "a"), "T2", fmt.Sprint("T", i, "b"), `"x"`, fmt.Sprintf(`"x%d"`, i), `"y"`, fmt.Sprintf(`"y%d"`, i))
		fmt.Fprintln(&text, skew.Replace(skewOne))
		fmt.Fprintln(&text, skew.Replace(skewTwo))
	}
	full := checkText(t, whole(), text.String())
	w := whole()
	w.Brief = true
	brief := checkText(t, w, text.String())
	if len(full.Findings) != 30 || len(brief.Findings) != 30 {
		t.Fatalf("%d and %d findings, want 30", len(full.Findings), len(brief.Findings))
	}
	if a, b := AppendReport(nil, full, false), AppendReport(nil, brief, false); !bytes.Equal(a, b) {
		t.Errorf("brief:\n%s\nfull:\n%s", b, a)
	}
	for i := range full.Findings {
		a, b := &full.Findings[i], &brief.Findings[i]
		if a.ID != b.ID || a.Anomaly != b.Anomaly || fmt.Sprint(a.Refutes, a.AlsoRefutes, a.Txns, len(a.Edges)) != fmt.Sprint(b.Refutes, b.AlsoRefutes, b.Txns, len(b.Edges)) {
			t.Errorf("finding %d: %+v, want the facts of %+v", i, b, a)
		}
		if told := b.Explanation != "" && len(b.History) == 2; told != (i < maxShown) {
			t.Errorf("finding %d of the brief report: told %v", i, told)
		}
	}
}
