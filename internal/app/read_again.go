package app

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/tape"
)

// Bounds of what a page reads again of the input.
const (
	mostAgain = 16               // records of a finding
	longAgain = 64 << 10         // bytes of a line or a message
	waitAgain = 2 * time.Second  // for all that brokers are asked for a page
	calmAgain = 30 * time.Second // no broker is asked after one did not answer
)

// asksAgain asks the sources for messages at their positions. One page asks at a time, so brokers see no storm.
type asksAgain struct {
	inputs func() []*input // nil: there are none
	busy   sync.Mutex
	failed time.Time // when a broker did not answer in time
}

// message is the message at a position of a broker, and the source of its records that name none; nil if nobody has it.
func (a *asksAgain) message(ctx context.Context, position string) (message []byte, of string) {
	at := strings.LastIndexByte(position, '/')
	offset, err := strconv.ParseInt(position[at+1:], 10, 64)
	if at < 0 || err != nil {
		return nil, ""
	}
	for _, i := range a.inputs() {
		source, ok := i.source.(ingest.Rereader)
		if !ok || ctx.Err() != nil {
			continue
		}
		text, err := source.Reread(ctx, position[:at], offset)
		if err == nil && len(text) <= longAgain {
			return text, i.of
		}
		if err != nil {
			i.log.Debug("a record cannot be read again", "position", position, "err", err) // it is shown as decoded
		}
	}
	if ctx.Err() != nil {
		a.failed = time.Now()
	}
	return nil, ""
}

// ofBroker says whether a position is in a stream or a topic.
func ofBroker(position string) bool {
	return strings.HasPrefix(position, "nats:") || strings.HasPrefix(position, "kafka:")
}

// readAgain adds records that had left the tape when a finding was made. They are lines of files, and messages of brokers, that
// are still there. A record counts if it has the id: the file may have been replaced.
func (a *asksAgain) readAgain(f *finding.Finding) {
	if f.Hidden || f.NoEvidence {
		return
	}
	s := tape.NewSearch([]finding.Finding{*f})
	left, asks := mostAgain, a.inputs != nil && a.busy.TryLock()
	ctx, cancel := context.WithTimeout(context.Background(), waitAgain)
	defer cancel()
	if asks {
		defer a.busy.Unlock()
		asks = time.Since(a.failed) > calmAgain
	}
	for _, x := range recordsOf(f) {
		if left == 0 || holds(f, x.id, x.position) {
			continue
		}
		if ofBroker(x.position) {
			if !asks {
				continue
			}
			if left--; ctx.Err() == nil {
				message, of := a.message(ctx, x.position)
				s.Message(message, of, x.position)
			}
		} else if line := lineAt(x.position); line != nil {
			s.Line(line, f.Source, x.position)
			left--
		}
	}
	for _, r := range s.Raws()[0] {
		if (f.Positions[r.Txn] == r.Position || f.SecondPositions[r.Txn] == r.Position) && !holds(f, r.Txn, r.Position) {
			f.Raw = append(f.Raw, r)
		}
	}
}

type recordPlace struct{ id, position string }

// recordsOf are the records that a finding names, with their positions.
func recordsOf(f *finding.Finding) (all []recordPlace) {
	for _, id := range f.Txns {
		for _, of := range []map[string]string{f.Positions, f.SecondPositions} {
			if of[id] != "" {
				all = append(all, recordPlace{id, of[id]})
			}
		}
	}
	return all
}

// holds says whether the finding has the record as it came in. Any piece counts, if the transaction has one record.
func holds(f *finding.Finding, id, position string) bool {
	twice := f.SecondPositions[id] != ""
	return slices.ContainsFunc(f.Raw, func(r finding.Raw) bool { return r.Txn == id && (!twice || r.Position == position) })
}

// lineAt is the line at a position in a file, nil if there is none.
func lineAt(position string) []byte {
	at := strings.LastIndexByte(position, ':')
	path, isFile := strings.CutPrefix(position[:max(at, 0)], "file:")
	offset, err := strconv.ParseInt(position[at+1:], 10, 64)
	if !isFile || err != nil {
		return nil
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() <= offset {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, offset, longAgain))
	line, _, ends := bytes.Cut(text, []byte{'\n'})
	if err != nil || !ends {
		return nil
	}
	return line
}
