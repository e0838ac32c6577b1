// Package oracle decides whole, finite histories in the slowest and most
// obvious way there is. It exists to be compared with: nothing but tests may
// import it.
//
// [Check] builds Adya's dependencies of registers and lists with maps and looks
// for cycles. [Possible] knows nothing of dependencies: it tries orders of
// commits and replays the operations, those on sets, counters, deleted rows and
// ranges as well. Where a history shows the order of every key both must agree,
// and a test says that they do.
//
// All transactions of a history are known: the capture is complete, the store
// was empty at the start, one source, one epoch. Slice order means nothing,
// except that it breaks ties.
package oracle

import (
	"strings"

	"github.com/isowatch/isowatch/internal/workload"
)

// History is all transactions of a run.
type History []workload.Txn

// Clone copies h deeply.
func (h History) Clone() History {
	c := make(History, len(h))
	for i := range h {
		c[i] = h[i].Clone()
	}
	return c
}

// Text is h in the text form of [workload.Parse], a line each.
func (h History) Text() string {
	var b strings.Builder
	for i := range h {
		b.WriteString(h[i].Text())
		b.WriteByte('\n')
	}
	return b.String()
}

// JSONL is h in the event format, a line each.
func (h History) JSONL() string {
	var b []byte
	for i := range h {
		b = append(workload.AppendJSON(b, &h[i]), '\n')
	}
	return string(b)
}
