package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// snapshot is the state of all machines at one step.
type snapshot struct {
	meta  snapshotMeta
	size  int64
	parts []flat.Part
	// from has the bytes of the parts as they were at that instant; nil: they are copied.
	from io.ReadCloser
}

// snapshotMeta says which step a snapshot stands behind, and how its bytes are
// cut.
type snapshotMeta struct {
	Step    uint64          `json:"step"`
	Sources []snapshotPiece `json:"sources"`
	Lost    lost            `json:"lost"`
}

type snapshotPiece struct {
	Source string        `json:"source"`
	Config window.Config `json:"config"`
	Bytes  int           `json:"bytes"`
	Faults suspension    `json:"faults,omitzero"`
}

// maxClosing is the state, in bytes, up to which Close writes a snapshot. At 100 MB a second, a larger
// snapshot would take too much of the time that a stop has. The next start replays the deltas sooner
// than that.
const maxClosing = 256 << 20

// stateBytes is about how large a snapshot would be.
func (e *Engine) stateBytes() int64 {
	n := int64(1 << 20)
	for _, x := range e.sources.list {
		n += x.machine.StateBytes()
	}
	return n
}

// instantFrom is the size in bytes from which a state is not copied. Tests set it so that no state is
// copied.
var instantFrom int64 = 16 << 20

// takeSnapshot keeps the state of the machines; the step goroutine stands still for it: about
// 1 ms per 5 MB of what is copied.
func (e *Engine) takeSnapshot() *snapshot {
	s := &snapshot{meta: snapshotMeta{Lost: e.sources.lost}}
	for _, x := range e.sources.list {
		w := flat.NewWriterApart()
		x.machine.WriteState(w)
		n := 0
		for _, part := range w.Parts() {
			n += len(part.Memory)
		}
		s.parts, s.size = append(s.parts, w.Parts()...), s.size+int64(n)
		s.meta.Sources = append(s.meta.Sources, snapshotPiece{x.name, x.machine.Config(), n, x.suspension})
	}
	if s.size >= instantFrom {
		var err error
		if s.from, err = instant(s.parts); err == nil {
			return s
		}
		e.log.Debug("a snapshot is copied", "err", err)
	}
	for i := range s.parts {
		s.parts[i].Memory = slices.Clone(s.parts[i].Memory)
	}
	return s
}

// Fresh asks for a snapshot with one of the next steps. It returns true once that is written, and few
// deltas follow it. The next call asks for another one.
func (e *Engine) Fresh() bool {
	if e.snaps.fresh.CompareAndSwap(written, notAsked) {
		return true
	}
	e.snaps.fresh.CompareAndSwap(notAsked, asked)
	return false
}

// drop ends a snapshot that is not written.
func (s *snapshot) drop() {
	if s != nil && s.from != nil {
		_ = s.from.Close()
	}
}

// chunks hands out the state. An error is in *failed.
func (s *snapshot) chunks(failed *error) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		room := make([]byte, deltaPart)
		used := 0
		for i := range s.parts {
			p := &s.parts[i]
			for left := p.Memory; len(left) > 0; {
				n := min(len(left), p.Whole(len(room)-used))
				if n > 0 {
					into := room[used : used+n]
					if s.from == nil {
						copy(into, left)
					} else if _, err := io.ReadFull(s.from, into); err != nil {
						*failed = fmt.Errorf("read the state: %w", err)
						return
					}
					p.Clean(into)
					left, used = left[n:], used+n
				}
				if len(left) > 0 || used == len(room) {
					if !yield(room[:used]) {
						return
					}
					used = 0
				}
			}
		}
		if used > 0 {
			yield(room[:used])
		}
	}
}

// writeSnapshot makes s the snapshot to start from, and drops the deltas up to
// its step.
func (e *Engine) writeSnapshot(s *snapshot, step uint64) error {
	defer s.drop()
	if !e.opt.HasRoom(s.size) {
		return fmt.Errorf("snapshot: there is no room for its %d bytes", s.size)
	}
	s.meta.Step = step
	meta, err := json.Marshal(&s.meta)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	var failed error
	if err := e.store.WriteSnapshot(step, s.chunks(&failed)); err != nil || failed != nil {
		return errors.Join(err, failed) // the written part needs the flip to count
	}
	e.lastSnapshot.Store(s.size)
	if err := e.store.FlipSnapshot(step, meta, store.Range{Space: spaceDelta, To: deltaKey(step+1, 0)}); err != nil {
		return err
	}
	e.snapshotStep.Store(step)
	return nil
}

// readSnapshot restores the machines and returns the step that they stand
// behind, 0 without a snapshot.
func (e *Engine) readSnapshot(ctx context.Context) (uint64, error) {
	meta, err := e.eachPiece(ctx, e.sources.read)
	if err != nil {
		return 0, err
	}
	e.snapshotStep.Store(meta.Step)
	e.sources.lost = meta.Lost
	return meta.Step, nil
}

// eachPiece calls fn with the state of each source in the current snapshot.
func (e *Engine) eachPiece(ctx context.Context, fn func(p *snapshotPiece, state []byte) error) (meta snapshotMeta, err error) {
	gen, text, chunks, err := e.store.LoadSnapshot()
	if err != nil || gen == 0 {
		return meta, err
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return meta, fmt.Errorf("snapshot %d: %w", gen, err)
	}
	all := flat.Make[byte](0, int(max(0, e.store.SnapshotBytes())))
	for chunk, err := range chunks {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return meta, err
		}
		all = append(all, chunk...)
	}
	e.lastSnapshot.Store(int64(len(all)))
	for i := range meta.Sources {
		p := &meta.Sources[i]
		if p.Bytes < 0 || p.Bytes > len(all) {
			return meta, fmt.Errorf("snapshot %d: %s ends early", gen, p.Source)
		}
		if err := fn(p, all[:p.Bytes]); err != nil {
			// A field that comes needs no new number, and the program before does not know it.
			if errors.Is(err, window.ErrLayout) || errors.Is(err, flat.ErrOther) {
				if errors.Is(err, window.ErrOlder) {
					err = fmt.Errorf("%w: %w", store.ErrOlder, err)
				}
				err = fmt.Errorf("%w: %w", store.ErrFormat, err)
			}
			return meta, fmt.Errorf("source %s: %w", p.Source, err)
		}
		all = all[p.Bytes:]
	}
	return meta, nil
}

// read restores a source.
func (s *sources) read(p *snapshotPiece, state []byte) error {
	x := s.add(p.Source, p.Config)
	x.told, x.suspension = true, p.Faults
	return x.machine.ReadState(state)
}
