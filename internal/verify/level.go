package verify

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// encoding is a level as an acyclic graph of the transactions.
type encoding struct {
	split   bool // a transaction is a begin and a commit, in this order; else both are one
	chain   bool // orders of writers lead from commit to commit; else to the begin
	session bool // session order counts
	time    bool // real time does
	commits bool // it leads from commit to commit; else to the begin
}

// encodingOf is the encoding of the level with this name: docs/proofs.md, section 4. Levels
// below prefix are not acyclic graphs over choices.
func encodingOf(level string) (e encoding, err error) {
	if level == "generalized-snapshot-isolation" {
		return encoding{split: true, time: true, commits: true}, nil
	}
	base, session := strings.CutPrefix(level, "strong-session-")
	base, strong := strings.CutPrefix(base, "strong-")
	switch e.session, e.time = session || strong, strong; {
	case session && strong:
	case base == "prefix":
		e.split, e.chain = true, true
		return e, nil
	case base == "snapshot-isolation":
		e.split = true
		return e, nil
	case base == "serializable":
		return e, nil
	}
	return e, fmt.Errorf("%q is not a level with choices", level)
}

// nodes are the begin and the commit of a transaction.
func (e encoding) nodes(txn int) (begin, commit int) {
	if e.split {
		return 2 * txn, 2*txn + 1
	}
	return 2 * txn, 2 * txn
}

// arc has the two nodes that an edge orders at the level; ok is false where it orders nothing.
func (e encoding) arc(d *finding.Dependency) (from, to int, ok bool) {
	beginFrom, commitFrom := e.nodes(d.From)
	beginTo, commitTo := e.nodes(d.To)
	switch label := d.Label; {
	case label&finding.Saturated != 0: // two writers, as ww
	case label&finding.Process != 0:
		return commitFrom, beginTo, e.session
	case label&finding.Realtime != 0 && e.commits:
		return commitFrom, commitTo, true
	case label&finding.Realtime != 0:
		return commitFrom, beginTo, e.time
	case label&finding.RW != 0:
		return beginFrom, commitTo, true
	case label&finding.WR != 0:
		return commitFrom, beginTo, true
	}
	if e.chain || d.Label == finding.OtherRow {
		return commitFrom, commitTo, true
	}
	return commitFrom, beginTo, true
}
