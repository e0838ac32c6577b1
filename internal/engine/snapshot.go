package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// snapshot is the state of all machines behind one step.
type snapshot struct {
	meta    snapshotMeta
	size    int64  // of the state
	bytes   []byte // the state, unless it is written already
	written bool
	err     error // of that
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

// maxClosing is the state, in bytes, up to which Close writes a snapshot: at 100 MB
// a second a larger one would take more of the time that a stop has than the next
// start needs to replay the deltas.
const maxClosing = 256 << 20

// stateBytes is about how large a snapshot would be.
func (e *Engine) stateBytes() int64 {
	n := int64(1 << 20)
	for _, x := range e.sources.list {
		n += x.machine.StateBytes()
	}
	return n
}

// takeSnapshot takes the state of the machines behind a step; the step goroutine stands still for it. A small
// state is copied, about 1 ms per 5 MB, and written beside the steps to come. A copy of a large one has no room in the
// memory: it is written at once, which takes some three times as long.
func (e *Engine) takeSnapshot(step uint64) *snapshot {
	s := &snapshot{meta: snapshotMeta{Step: step, Lost: e.sources.lost}}
	if size := e.stateBytes(); e.opt.SnapshotCopy == 0 || size <= e.opt.SnapshotCopy {
		s.bytes = make([]byte, 0, size)
		for _, x := range e.sources.list {
			at := len(s.bytes)
			s.bytes = x.machine.AppendState(s.bytes)
			s.add(x, len(s.bytes)-at)
		}
		s.size = int64(len(s.bytes))
		e.copied.Store(int64(cap(s.bytes)))
		return s
	}
	s.written = true
	s.err = e.store.WriteSnapshotUnsynced(step, func(yield func([]byte) bool) {
		ok := true
		for _, x := range e.sources.list {
			n := 0
			x.machine.WriteState(func(piece []byte) {
				n += len(piece)
				for part := range slices.Chunk(piece, deltaPart) {
					ok = ok && yield(part)
				}
			})
			s.add(x, n)
			s.size += int64(n)
		}
	})
	return s
}

func (s *snapshot) add(x *source, bytes int) {
	s.meta.Sources = append(s.meta.Sources, snapshotPiece{x.name, x.machine.Config(), bytes, x.suspension})
}

// writeSnapshot makes s the snapshot to start from, and drops the deltas up to
// its step, which is committed.
func (e *Engine) writeSnapshot(s *snapshot) error {
	if s.err != nil {
		return s.err
	}
	step := s.meta.Step
	meta, err := json.Marshal(&s.meta)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if s.written {
		if err := e.store.SyncSnapshot(step); err != nil {
			return err
		}
	} else {
		if !e.opt.HasRoom(s.size) {
			return fmt.Errorf("snapshot: there is no room for its %d bytes", s.size)
		}
		if err := e.store.WriteSnapshot(step, slices.Chunk(s.bytes, deltaPart)); err != nil {
			return err
		}
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

// eachPiece calls fn with the state of each source in the current snapshot. It passes over bytes that fn leaves.
func (e *Engine) eachPiece(ctx context.Context, fn func(p *snapshotPiece, state *pieces) error) (meta snapshotMeta, err error) {
	gen, text, chunks, err := e.store.LoadSnapshot()
	if err != nil || gen == 0 {
		return meta, err
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return meta, fmt.Errorf("snapshot %d: %w", gen, err)
	}
	next, stop := iter.Pull2(chunks)
	defer stop()
	all, size := &pieces{ctx: ctx, next: next}, int64(0)
	for i := range meta.Sources {
		p := &meta.Sources[i]
		all.left = max(p.Bytes, 0)
		err := fn(p, all)
		for all.left > 0 && all.err == nil && err == nil {
			all.more()
		}
		if all.err != nil {
			return meta, all.err
		}
		if all.left > 0 && err == nil || p.Bytes < 0 {
			err = errors.New("ends early")
		}
		if err != nil {
			return meta, fmt.Errorf("snapshot %d: source %s: %w", gen, p.Source, err)
		}
		size += int64(p.Bytes)
	}
	for all.err == nil && !all.ended { // the number of chunks and their sum are checked at the end
		all.left = 1 << 30
		all.more()
	}
	e.lastSnapshot.Store(size)
	return meta, all.err
}

// pieces are the chunks of a snapshot, cut at the ends of sources.
type pieces struct {
	ctx   context.Context
	next  func() ([]byte, error, bool)
	rest  []byte // of the latest chunk
	left  int    // bytes of the source
	ended bool
	err   error
}

// more is the next piece of the source, nil at its end and behind an error.
func (p *pieces) more() []byte {
	if len(p.rest) == 0 && p.left > 0 && p.err == nil && !p.ended {
		chunk, err, ok := p.next()
		switch {
		case !ok:
			p.ended = true
		case err == nil && p.ctx.Err() != nil:
			p.err = context.Cause(p.ctx)
		case err != nil:
			p.err = err
		default:
			p.rest = chunk
		}
	}
	n := min(len(p.rest), p.left)
	piece := p.rest[:n]
	p.rest, p.left = p.rest[n:], p.left-n
	if n == 0 {
		return nil
	}
	return piece
}

// all has the rest of the source.
func (p *pieces) all() []byte {
	b := make([]byte, 0, p.left)
	for piece := p.more(); piece != nil; piece = p.more() {
		b = append(b, piece...)
	}
	return b
}

// read restores a source.
func (s *sources) read(p *snapshotPiece, state *pieces) error {
	x := s.add(p.Source, p.Config)
	x.told, x.suspension = true, p.Faults
	return x.machine.ReadStateFrom(state.more, uint64(max(p.Bytes, 0)))
}

// wholePiece is a state in one piece.
func wholePiece(state []byte) *pieces {
	return &pieces{ctx: context.Background(), rest: state, left: len(state), ended: true}
}
