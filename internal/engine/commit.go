package engine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/store"
)

// commit writes the step.
func (e *Engine) commit(w *work) error {
	forgotten := e.head.Forgotten
	if err := e.commitStep(w); err != nil {
		return err
	}
	if ids := w.changed(); e.opt.Changed != nil && (len(ids) > 0 || forgotten != e.head.Forgotten) {
		e.opt.Changed(ids, e.head.Forgotten)
	}
	findings := 0
	for i := range w.effects {
		findings += len(w.effects[i].findings)
		for _, p := range w.effects[i].panes {
			if e.opt.PaneWritten != nil {
				e.opt.PaneWritten(w.effects[i].source, p.start)
			}
		}
	}
	findings += len(w.resolving)
	e.status.Store(w.status)
	e.warnings.note(w.dead, w.step.tick, e.log)
	e.opt.Committed(findings)
	if w.snapshot != nil {
		snap, step := w.snapshot, e.head.Step
		w.snapshot = nil
		e.snaps.Add(1)
		go func() {
			defer e.snaps.Done()
			defer e.snaps.being.Store(false)
			err := e.writeSnapshot(snap, step)
			if err == nil {
				e.snaps.fresh.CompareAndSwap(taken, written)
			} else {
				e.snaps.fresh.CompareAndSwap(taken, asked)
				e.log.Error("snapshot failed; the next start replays more", "err", err)
			}
		}()
	}
	return nil
}

// commitStep writes first the state that counts only once the head names it, in as many transactions as
// needed. The last transaction also holds the head.
func (e *Engine) commitStep(w *work) error {
	h := e.head
	h.Step++
	h.Tick = w.step.tick
	out := e.newWrites()
	for part, d := 0, w.delta; len(d) > 0 || part == 0; part++ {
		n := min(len(d), deltaPart)
		if err := out.early(spaceDelta, deltaKey(h.Step, part), d[:n]); err != nil {
			return err
		}
		d = d[n:]
	}
	for i := range w.dead {
		text, err := json.Marshal(&w.dead[i])
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		h.Dead++
		h.DeadBytes += int64(len(text))
		if err := out.early(spaceDead, key64(h.Dead), text); err != nil {
			return err
		}
	}
	for i := range w.effects {
		if err := e.putEffects(&w.effects[i], &h, out); err != nil {
			return err
		}
	}
	for _, dead := range [2]bool{true, false} { // of one name, the put counts
		for i := range w.puts {
			if p := &w.puts[i]; (p.Value == nil) == dead {
				if err := p.eachPiece(out.earlyEntry); err != nil {
					return err
				}
			}
		}
	}
	if err := e.putAssembly(w, &h, out); err != nil {
		return err
	}
	if err := out.close(); err != nil {
		return err
	}
	e.putResolved(w, &h, out.put)
	for p, c := range w.cursors {
		text, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("cursor of %s: %w", p, err)
		}
		out.put(spaceCursor, []byte(p), text)
	}
	for _, p := range w.ended {
		out.add(store.Entry{Space: spaceCursor, Key: []byte(p), Delete: true})
	}
	if err := e.trimAssembly(&h, out.add); err != nil {
		return fmt.Errorf("open transactions: %w", err)
	}
	if err := e.trim(&h, out.add); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if err := e.retain(&h, w.step.tick, w.wrote, out.add); err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("head: %w", err)
	}
	out.put(spaceHead, []byte("head"), text)
	if err := e.store.Commit(out.entries); err != nil {
		return err
	}
	e.lament(&e.head, &h)
	e.head = h
	w.status.count(&h)
	e.committed.Store(h.Step)
	return nil
}

// putEffects writes findings under their ids, those not stored yet with the next
// order, what is to be delivered into the outbox, and panes.
func (e *Engine) putEffects(x *effect, h *head, out *writes) error {
	orders := map[string][]byte{} // of findings written in this step
	sizes := map[string]int64{}   // of these
	for i, text := range x.findings {
		id := []byte(x.ids[i])
		order := orders[x.ids[i]]
		before := sizes[x.ids[i]] // of the stored finding that it replaces
		if order == nil {
			old, err := e.store.Get(spaceFinding, id)
			if err != nil {
				return err
			}
			if before = int64(len(old)); before >= 8 {
				order = old[:8:8]
				h.Bare = min(h.Bare, order64(order)-1) // this revision stores its records again
				// Beyond the head it is of a step that was cut off behind a spill.
				h.Order = max(h.Order, order64(order))
			}
		}
		if order == nil {
			h.Order++
			order = key64(h.Order)
			if err := out.early(spaceOrder, order, id); err != nil {
				return err
			}
		}
		orders[x.ids[i]] = order
		sizes[x.ids[i]] = 8 + int64(len(text))
		h.FindingBytes += sizes[x.ids[i]] - before
		if err := out.early(spaceFinding, id, append(order[:8:8], text...)); err != nil {
			return err
		}
		if x.outbox[i] {
			h.Outbox++
			h.OutboxBytes += int64(len(text))
			if err := out.early(spaceOutbox, key64(h.Outbox), text); err != nil {
				return err
			}
		}
	}
	if err := e.dropFallen(x, orders, sizes, h, out); err != nil {
		return err
	}
	if err := e.putRaws(x, h, out); err != nil {
		return err
	}
	for _, p := range x.panes {
		if err := out.early(spacePane, p.key, p.value); err != nil {
			return err
		}
	}
	return nil
}

// dropFallen removes the fallen findings: they were stored as waiting, or this step brought them, and
// they no longer hold.
func (e *Engine) dropFallen(x *effect, orders map[string][]byte, sizes map[string]int64, h *head, out *writes) error {
	for _, id := range x.fallen {
		value, err := e.store.Get(spaceFinding, []byte(id))
		if err != nil {
			return err
		}
		order := orders[id]
		if order == nil && len(value) >= 8 {
			order = value[:8]
		}
		if order == nil {
			continue
		}
		size, ok := sizes[id]
		if !ok {
			size = int64(len(value))
		}
		h.FindingBytes = max(0, h.FindingBytes-size)
		if err := e.dropRaw([]byte(id), h, out.earlyEntry); err != nil {
			return err
		}
		for _, entry := range []store.Entry{{Space: spaceFinding, Key: []byte(id), Delete: true}, {Space: spaceOrder, Key: order, Delete: true}} {
			if err := out.earlyEntry(entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// wrote says whether the step holds a finding of that id.
func (w *work) wrote(id string) bool {
	for i := range w.effects {
		if slices.Contains(w.effects[i].ids, id) {
			return true
		}
	}
	return slices.ContainsFunc(w.resolving, func(x *resolving) bool { return x.Finding.ID == id })
}

// changed are the ids of the findings that the step wrote or removed, each once.
func (w *work) changed() (ids []string) {
	for i := range w.effects {
		ids = append(append(ids, w.effects[i].ids...), w.effects[i].fallen...)
	}
	for _, x := range w.resolving {
		ids = append(ids, x.Finding.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func order64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }
