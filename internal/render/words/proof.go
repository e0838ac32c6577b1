package words

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// ShortProof is the proof in at most so many bytes, and a line more that says where the rest is. It
// is cut at the end of a line, and nothing in it is hidden.
func ShortProof(f *finding.Finding, most int) string {
	var b strings.Builder
	all := Proof(f)
	for line := range strings.SplitSeq(all, "\n") {
		line = Visible(line)
		if b.Len()+len(line)+1 > most {
			fmt.Fprintf(&b, "... The rest is in the finding: monitor findings --data DIR --id %s", Visible(f.ID))
			return b.String()
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
