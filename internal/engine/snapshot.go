package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// snapshot is the state of all machines at one step.
type snapshot struct {
	meta  snapshotMeta
	bytes []byte
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

// takeSnapshot copies the state of the machines; the step goroutine stands still
// for it: about 1 ms per 5 MB.
func (e *Engine) takeSnapshot() *snapshot {
	s := &snapshot{meta: snapshotMeta{Lost: e.sources.lost}, bytes: make([]byte, 0, e.stateBytes())}
	for _, x := range e.sources.list {
		at := len(s.bytes)
		s.bytes = x.machine.AppendState(s.bytes)
		s.meta.Sources = append(s.meta.Sources, snapshotPiece{x.name, x.machine.Config(), len(s.bytes) - at, x.suspension})
	}
	return s
}

// writeSnapshot makes s the snapshot to start from, and drops the deltas up to
// its step.
func (e *Engine) writeSnapshot(s *snapshot, step uint64) error {
	if !e.opt.HasRoom(int64(len(s.bytes))) {
		return fmt.Errorf("snapshot: there is no room for its %d bytes", len(s.bytes))
	}
	s.meta.Step = step
	meta, err := json.Marshal(&s.meta)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if err := e.store.WriteSnapshot(step, slices.Chunk(s.bytes, deltaPart)); err != nil {
		return err
	}
	e.lastSnapshot.Store(int64(len(s.bytes)))
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
	var all []byte
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
