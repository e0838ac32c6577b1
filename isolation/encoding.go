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

// View is the encoding of l as an order, and ok is false for levels that have
// none here (docs/proofs.md, section 4):
//   - read uncommitted and read committed are the acyclicity of the write
//     dependencies, and of write and read dependencies (PL-1 and PL-2, Adya)
//   - monotonic atomic view, read atomic and causal are the acyclicity of write and
//     read dependencies, together with orders of writers. Their axioms force these
//     orders (dbcop, figures 2a to 2c; package saturation)
//   - serializable is the acyclicity of the direct serialization graph (PL-3, Adya)
//   - snapshot isolation is the acyclicity of the BC graph (Viper, definition 2 and
//     theorem 4), together with the absence of divergence. Package infer reports
//     divergence (MTC, lemma 1)
//   - generalized snapshot isolation orders commits in real time. A transaction that
//     ended comes before the commit of one that began later, which may read an old
//     snapshot (Viper, section 5)
//   - strong levels have session order, and a transaction that ended comes before the
//     begin of one that began later
//   - prefix is the BC graph with write dependencies from commit to commit. The
//     commits have one order, and every transaction read a prefix of it. Two that run
//     at a time may write one key (dbcop, figure 2d)
//   - where rows are told apart, snapshot isolation orders only the commits of two
//     transactions that wrote two rows of a key
func (l Level) View() (v incremental.View, ok bool) {
	if l.Special == Linearizable {
		return v, false
	}
	switch l.Underlying() {
	case ReadUncommitted:
		v = incremental.View{Dep: ww | other}
	case ReadCommitted:
		v = incremental.View{Dep: ww | other | wr | reread}
	case MonotonicAtomicView:
		v = incremental.View{Dep: ww | other | wr | reread | saturated}
	case ReadAtomic, Causal:
		v = incremental.View{Dep: ww | other | wr | saturated}
	case Prefix:
		v = incremental.View{Split: true, Dep: wr, Chain: ww | other, Anti: rw}
	case SnapshotIsolation:
		v = incremental.View{Split: true, Dep: ww | wr, Chain: other, Anti: rw}
	case Serializable:
		v = incremental.View{Dep: ww | other | wr, Anti: rw}
	default:
		return v, false
	}
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
