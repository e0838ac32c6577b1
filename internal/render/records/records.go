// Package records writes a finding as a history: the records that it carries, in the format of another checker.
package records

import (
	"bytes"
	"errors"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/internal/render/scene"
)

// ErrNone: the finding carries no records.
var ErrNone = errors.New("the finding carries no records")

// JSONL has a record a line.
func JSONL(f *finding.Finding) ([]byte, error) { return write(f, history.JSONL) }

// EDN has a history for Elle.
func EDN(f *finding.Finding) ([]byte, error) { return write(f, history.EDN) }

func write(f *finding.Finding, format history.Format) ([]byte, error) {
	var all []event.Record
	sc := scene.New(f)
	for _, members := range [][]scene.Member{sc.Members, sc.Beside} {
		for i := range members {
			if r := members[i].Record; r != nil {
				all = append(all, *r)
			}
		}
	}
	if len(all) == 0 {
		return nil, ErrNone
	}
	inSessions(all)
	var b bytes.Buffer
	err := history.Write(&b, format, all)
	return b.Bytes(), err
}

// inSessions puts records of one session that have numbers into the order of these: another checker takes the order of the lines.
func inSessions(all []event.Record) {
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			a, b := &all[i], &all[j]
			if a.Session != "" && a.Session == b.Session && a.Flags&b.Flags&event.HasSeq != 0 && b.Seq < a.Seq {
				*a, *b = *b, *a
			}
		}
	}
}
