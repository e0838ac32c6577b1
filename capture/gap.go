package capture

import (
	"fmt"
	"time"

	"github.com/isowatch/isowatch/event/record"
)

// gap tells the monitor that transactions are missing, whatever sessions they had. It is two
// transactions without operations, in a session of the recorder's own. Their seq numbers leave
// room for the missing ones. A gap in the session of a dropped transaction would not show if
// the session ends with it, or if it has no session.
func (r *Recorder) gap(lost int64) [][]byte {
	now := time.Now().UnixNano()
	mark := func() []byte {
		r.marks++
		return record.AppendJSON(nil, &record.Record{
			ID: fmt.Sprintf("%s-gap-%d", r.instance, r.marks), Session: "capture/" + r.instance, Name: "capture.gap",
			Source: r.opt.Source, Epoch: r.opt.Epoch, Status: record.Committed,
			Flags: record.HasSeq | record.HasTimes, Seq: r.marks, Start: now, End: now,
		})
	}
	before := mark()
	r.marks += lost
	return [][]byte{before, mark()}
}
