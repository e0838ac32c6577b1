package isolation

import (
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
)

const (
	ww        = incremental.Labels(finding.WW)
	wr        = incremental.Labels(finding.WR)
	rw        = incremental.Labels(finding.RW)
	process   = incremental.Labels(finding.Process)
	saturated = incremental.Labels(finding.Saturated)
	reread    = incremental.Labels(finding.Reread)
	other     = incremental.Labels(finding.OtherRow)
)

// View is the encoding of l as an order (docs/proofs.md, section 4), and ok is false for
// linearizable, which has none here. To the plain form of the base ([bases])
//   - the strong-session form adds session order
//   - the strong form adds that, and what ended comes before the begin of what began later
//   - generalized snapshot isolation adds that what ended comes before the commit of what began
//     later, which may read an old snapshot (Viper, section 5)
func (l Level) View() (v incremental.View, ok bool) {
	b := l.Underlying()
	if l.Special == Linearizable || b == 0 {
		return v, false
	}
	v = bases[b].view
	if l.Family != Plain {
		v.Dep |= process
	}
	switch {
	case l.Special == GeneralizedSI:
		v.Time = incremental.FromCommit
	case l.Family == Strong:
		v.Time = incremental.FromBegin
	}
	return v, true
}
