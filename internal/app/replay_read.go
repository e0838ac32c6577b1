package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// openFiles places the reader in the file that holds a given byte, adds up the sizes, and opens the
// files of other formats. It returns the files of records.
func (p *replaying) openFiles() (records []string, err error) {
	var paths, foreign []string
	size := int64(0) // of the last one, 0 if it is packed
	for _, g := range p.Config.Files {
		found := []string{g}
		if _, err := os.Stat(g); err != nil {
			if found, err = filepath.Glob(g); err != nil {
				return nil, fmt.Errorf("%q is not a pattern: %w", g, err)
			}
		}
		for _, path := range found {
			info, err := os.Stat(path)
			if err != nil {
				continue
			}
			paths = append(paths, filepath.Clean(path))
			other, unpacked, err := p.openOther(path)
			switch {
			case err != nil:
				return nil, fmt.Errorf("%s: %w", path, err)
			case other:
				foreign = append(foreign, path)
			default:
				p.size += info.Size()
				size = unpacked
				records = append(records, path)
			}
		}
	}
	from, to := p.Config.From, p.Config.To
	switch c := p.Config; {
	case len(foreign) == 0:
		records = p.Config.Files // also files that match later
	case len(paths) > 1 || c.NATS != nil || c.Kafka != nil:
		return nil, fmt.Errorf("%s is a whole history: replay it alone, without other inputs", foreign[0])
	}
	if from.Kind != config.AtOffset && to.Kind != config.AtOffset {
		return records, nil
	}
	if len(paths) != 1 {
		return nil, fmt.Errorf("a position in bytes needs a single file, and %d match", len(paths))
	}
	if len(foreign) > 0 {
		return nil, fmt.Errorf("%s is not a file of records: it has no range of bytes", foreign[0])
	}
	if from.Kind == config.AtOffset {
		if size > 0 && from.Offset > size {
			return nil, behindEnd(from, "file:"+paths[0])
		}
		p.from["file:"+paths[0]] = ingest.Cursor{Next: from.Offset}
	}
	return records, nil
}

// behindEnd is the error for a position that the partition has not reached.
func behindEnd(from config.Bound, partition string) error {
	return fmt.Errorf("--from %s is after the end of %s", from, partition)
}

// openOther opens the file if it is of another checker's format. For a file of records it returns the
// size, 0 where it is not known.
func (p *replaying) openOther(path string) (other bool, size int64, err error) {
	r, err := whole.OpenRecording(path, nil, p.Format)
	if err != nil {
		return false, 0, err
	}
	if r.Format == history.JSONL || r.Format == history.Proto {
		return false, r.Size, r.Close()
	}
	p.recording = r
	p.closers = append(p.closers, func() { _ = r.Close() })
	return true, 0, nil
}

// readOther reads the file of another checker, if there is one.
func (p *replaying) readOther() error {
	h, r := p.history, p.recording
	if r == nil {
		return nil
	}
	h.ReadAs = r.Format
	h.Standing = nil // nothing else is waited for
	h.Batch.Partitions = append(h.Batch.Partitions, whole.PartitionOf(r.Name))
	err := r.Read(&h.Decoder, &h.Batch, func(contract string) error {
		p.out.Read += int64(len(h.Batch.Txns) + len(h.Batch.Bad))
		if p.Progress != nil {
			p.Progress(Progress{p.out.Read, r.Share(), time.Since(p.began)})
		}
		return h.StepUnder(contract)
	})
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInput, r.Name, err)
	}
	return nil
}

// ended is the return of a source.
type ended struct {
	input *replayInput
	err   error
}

// read takes what the inputs send until all are done.
func (p *replaying) read(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan ingest.Chunk, chunksAhead)
	ends := make(chan ended, len(p.inputs))
	var running sync.WaitGroup
	for _, in := range p.inputs {
		reading, stop := context.WithCancel(ctx)
		in.stop = stop
		running.Go(func() { ends <- ended{in, in.source.Run(reading, p.from, out)} })
	}
	defer func() {
		cancel()
		go func() { running.Wait(); close(out) }()
		for range out { // a source may be about to send
		}
	}()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	told := time.Now()
	for open := len(p.inputs); open > 0; {
		select {
		case c := <-out:
			if err := p.take(&c); err != nil {
				return err
			}
		case e := <-ends:
			open--
			for len(out) > 0 { // what it had sent
				c := <-out
				if err := p.take(&c); err != nil {
					return err
				}
			}
			if e.err != nil && !e.input.ended {
				return fmt.Errorf("%w: %w", ErrInput, e.err)
			}
		case now := <-tick.C:
			if err := p.troubled(now); err != nil {
				return err
			}
			if p.Progress != nil && now.Sub(told) >= time.Second {
				told = now
				p.Progress(Progress{p.out.Read, p.share(), now.Sub(p.began)})
			}
		}
		if err := ctx.Err(); err != nil {
			return errors.New("interrupted: the part that was read gives no verdict")
		}
	}
	return nil
}

// troubled ends the replay when an input has been out of reach for too long.
func (p *replaying) troubled(now time.Time) error {
	for name, x := range p.parts {
		if x.trouble != "" && !x.done && now.Sub(x.since) >= p.Patience {
			return fmt.Errorf("%w: %s cannot be read: %s", ErrInput, name, x.trouble)
		}
	}
	return nil
}

// share is how much of the input is read, by bytes of files, or by time.
func (p *replaying) share() float64 {
	sum, n := 0.0, 0
	bytes := int64(0)
	for _, x := range p.parts {
		if x.input.name == "file:" {
			bytes += x.bytes
			continue
		}
		sum += x.share
		n++
	}
	if p.size > 0 {
		sum += min(float64(bytes)/float64(p.size), 1)
		n++
	}
	return sum / float64(max(n, 1))
}

// part finds or makes the partition.
func (p *replaying) part(name string) *replayPart {
	if x := p.parts[name]; x != nil {
		return x
	}
	x := &replayPart{index: uint32(len(p.history.Batch.Partitions)), to: -1}
	for _, in := range p.inputs {
		if strings.HasPrefix(name, in.name) {
			x.input = in
		}
	}
	switch to := p.Config.To; to.Kind {
	case config.AtOffset:
		x.to = to.Offset
	case config.AtOffsets:
		for partition, offset := range to.Offsets {
			if strings.HasSuffix(name, fmt.Sprintf("/%d", partition)) {
				x.to = offset
			}
		}
	}
	p.parts[name] = x
	p.history.Batch.Partitions = append(p.history.Batch.Partitions, name)
	return x
}

// take takes in what a source sent.
func (p *replaying) take(c *ingest.Chunk) error {
	x := p.part(c.Partition)
	if x.done {
		return nil
	}
	if c.Problem != "" {
		if x.trouble == "" {
			x.since = time.Now()
		}
		x.trouble = c.Problem
		return nil
	}
	x.trouble = ""
	if from, asked := p.from[c.Partition]; asked && len(c.Gaps) > 0 && c.Cursor.Next < from.Next { // nothing is lost: it never was
		return fmt.Errorf("%w: %w", ErrInput, behindEnd(p.Config.From, c.Partition))
	}
	for _, g := range c.Gaps {
		if x.to < 0 || g.From < x.to {
			p.lost = append(p.lost, window.Gap{Partition: c.Partition, From: g.From, To: g.To, Reason: g.Reason})
		}
	}
	passed := x.to >= 0 && c.Cursor.Next >= x.to
	for i := range c.Messages {
		m := &c.Messages[i]
		if x.to >= 0 && m.Offset >= x.to || p.message(x, m) {
			passed = true
			break
		}
	}
	if len(p.history.Batch.Data) >= whole.StepBytes {
		p.step()
	}
	if passed || c.CaughtUp || c.EOF {
		p.finish(x)
	}
	return nil
}

// finish notes that x is read. A live input is left when all of its partitions are.
func (p *replaying) finish(x *replayPart) {
	p.step() // before a machine hears that it is left
	x.done, x.share = true, 1
	if x.input.name == "file:" {
		return // the next file comes
	}
	topics := map[string]bool{}
	for name, y := range p.parts {
		if y.input != x.input {
			continue
		}
		if !y.done {
			return
		}
		topic := strings.TrimPrefix(name, x.input.name)
		if at := strings.LastIndexByte(topic, '/'); at >= 0 {
			topic = topic[:at]
		}
		topics[topic] = true
	}
	for _, topic := range x.input.topics {
		if !topics[topic] {
			return
		}
	}
	x.input.ended = true
	x.input.stop()
}

// message decodes m. It is true when m, or what was read before, tells that the
// partition has passed the range.
func (p *replaying) message(x *replayPart, m *ingest.Message) (passed bool) {
	b := &p.history.Batch
	to := p.Config.To
	if m.Time > 0 && to.Kind == config.Unbounded && m.Time > p.began.Add(overtaken).UnixNano() {
		return true
	}
	if early := p.early(m); early != p.allEarly {
		p.history.Step()
		p.allEarly = early
	}
	txns, parts, bad := len(b.Txns), len(b.Parts), len(b.Bad)
	p.recognizer.Decode(&p.history.Decoder, b, event.Position{Partition: x.index, Offset: m.Offset}, m.Value)
	p.out.Read += int64(len(b.Txns) - txns + len(b.Parts) - parts + len(b.Bad) - bad)
	p.keep(x, m, b.Txns[txns:], b.Parts[parts:])
	if x.bytes += int64(len(m.Value)) + 1; m.Time > 0 {
		p.measure(x, m.Time)
	}
	if to.Kind != config.AtTime || x.input.name == "file:" {
		return false
	}
	limit := to.Time + p.slack()
	for i := txns; i < len(b.Txns); i++ {
		if t := &b.Txns[i]; t.Flags&event.HasTimes != 0 {
			x.count(p.clamped(t.End, m), limit)
		}
	}
	for i := parts; i < len(b.Parts); i++ {
		if t := &b.Parts[i]; t.HasEnd {
			x.count(p.clamped(t.End, m), limit)
		}
	}
	return x.after >= beyond
}

// early says whether m was stored before the range began. Then its transaction had ended before, too.
func (p *replaying) early(m *ingest.Message) bool {
	from := p.Config.From
	return from.Kind == config.AtTime && m.Time > 0 && m.Time < from.Time-int64(p.Config.Watch.Contract.ClockDrift)
}

// clamped is the end of a transaction, or the time when m was stored if a wrong clock puts the end after that.
func (p *replaying) clamped(end int64, m *ingest.Message) int64 {
	if m.Time > 0 {
		return min(end, m.Time+int64(p.Config.Watch.Contract.ClockDrift))
	}
	return end
}

func (x *replayPart) count(end, limit int64) {
	if end < limit {
		x.after = 0
		return
	}
	x.after++
}

// measure guesses how much of the partition is read, from when m was stored.
func (p *replaying) measure(x *replayPart, stored int64) {
	if x.first == 0 {
		x.first = stored
	}
	last := p.began.UnixNano()
	if to := p.Config.To; to.Kind == config.AtTime {
		last = min(last, to.Time+p.slack())
	}
	if last > x.first {
		x.share = min(float64(stored-x.first)/float64(last-x.first), 1)
	}
}
