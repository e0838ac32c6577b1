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

// untold says by anomaly why EDN cannot hold what the finding is about.
var untold = map[string]string{
	"session-not-sequential": "a process of EDN does one thing at a time, so only JSONL keeps that two transactions of one session do not",
	"contradictory-record":   "transactions of EDN have no ids, so only JSONL keeps that two records have the same one",
}

// EDN has a history for Elle. It is an error where EDN cannot say what f is about.
func EDN(f *finding.Finding) ([]byte, error) {
	if why := untold[f.Anomaly]; why != "" && len(f.History) > 0 {
		return nil, errors.New(why)
	}
	return write(f, history.EDN)
}

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
