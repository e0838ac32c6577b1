package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// Writable are the formats that Write writes.
func Writable() []Format { return []Format{JSONL, EDN, PolySI, DBCop} }

// Write writes a history as f, so that its verdicts stay the same. If f cannot express a
// transaction, the error names it.
func Write(out io.Writer, f Format, history []event.Record) error {
	var text []byte
	var err error
	switch f {
	case JSONL:
		for i := range history {
			text = append(event.AppendJSON(text, &history[i]), '\n')
			if len(text) >= flushBytes {
				if _, err := out.Write(text); err != nil {
					return err
				}
				text = text[:0]
			}
		}
	case EDN:
		text, err = appendEDN(nil, history)
	case PolySI, DBCop:
		var p *plain
		if p, err = plainOf(history); err == nil && f == PolySI {
			text = p.appendPolySI(nil)
		} else if err == nil {
			text = p.appendDBCop(nil)
		}
	default:
		return fmt.Errorf("format %s is not written", f)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

var errOneSource = errors.New("the history has several sources or epochs: only jsonl can hold them")

// oneSource says whether all of the history is of one source and epoch.
func oneSource(history []event.Record) bool {
	return !slices.ContainsFunc(history, func(r event.Record) bool {
		return r.Source != history[0].Source || r.Epoch != history[0].Epoch
	})
}

// inSessions are the indexes of the history's transactions by session, in the order
// of each. One without a session has one of its own.
func inSessions(history []event.Record) [][]int {
	var sessions [][]int
	byName := map[string]int{}
	for i := range history {
		name := history[i].Session
		at, known := byName[name]
		if !known || name == "" {
			at = len(sessions)
			sessions = append(sessions, nil)
			byName[name] = at
		}
		sessions[at] = append(sessions[at], i)
	}
	for _, s := range sessions {
		slices.SortStableFunc(s, func(i, j int) int {
			a, b := &history[i], &history[j]
			switch {
			case a.Flags&b.Flags&event.HasSeq != 0:
				return cmp.Compare(a.Seq, b.Seq)
			case a.Flags&b.Flags&event.HasTimes != 0:
				return cmp.Compare(a.Start, b.Start)
			}
			return 0
		})
	}
	return sessions
}

// names gives texts numbers: their own where all are numbers from the least one on,
// else in the order in which they come.
type names struct {
	numbers map[string]int64
	kept    bool
}

func newNames(texts []string, least int64) *names {
	n := &names{numbers: map[string]int64{}, kept: true}
	for _, t := range texts {
		if _, known := n.numbers[t]; known {
			continue
		}
		n.numbers[t] = least + int64(len(n.numbers))
		v, used := leadingInteger([]byte(t))
		canonical := used == len(t) && used > 0 && (t == "0" || t[0] != '0' && t[0] != '-')
		n.kept = n.kept && canonical && v >= least
	}
	return n
}

func (n *names) of(text string) int64 {
	if n.kept {
		v, _ := leadingInteger([]byte(text))
		return v
	}
	return n.numbers[text]
}
