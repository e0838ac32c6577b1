package capture

import (
	"fmt"
	"time"

	"github.com/isowatch/isowatch/event/record"
)

// gap is what tells the monitor that transactions are missing, whatever sessions they
// had: two transactions without operations, of a session of the recorder's own, whose
// seq leaves room for them. A session that ends with a dropped transaction would not
// show it, nor would one without a session.
func (s *sender) gap(lost int64) [][]byte {
	now := time.Now().UnixNano()
	mark := func() []byte {
		s.marks++
		return record.AppendJSON(nil, &record.Record{
			ID: fmt.Sprintf("%s-gap-%d", s.r.instance, s.marks), Session: "capture/" + s.r.instance, Name: "capture.gap",
			Source: s.r.opt.Source, Epoch: s.r.opt.Epoch, Status: record.Committed,
			Flags: record.HasSeq | record.HasTimes, Seq: s.marks, Start: now, End: now,
		})
	}
	before := mark()
	s.marks += lost
	return [][]byte{before, mark()}
}
