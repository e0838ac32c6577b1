package engine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/store"
)

// commit writes the step in one transaction. What does not fit one, the parts of
// a large delta, goes before it: nothing counts until the head does.
func (e *Engine) commit(w *work) error {
	if err := e.commitStep(w); err != nil {
		return err
	}
	findings := 0
	for i := range w.effects {
		findings += len(w.effects[i].findings)
	}
	findings += len(w.resolving)
	e.status.Store(w.status)
	e.warnings.note(w.dead, w.step.tick, e.log)
	e.opt.Committed(findings)
	if w.snapshot != nil {
		snap, step := w.snapshot, e.head.Step
		e.snaps.Add(1)
		go func() {
			defer e.snaps.Done()
			defer e.snapped.Store(false)
			if err := e.writeSnapshot(snap, step); err != nil {
				e.log.Error("snapshot failed; the next start replays more", "err", err)
			}
		}()
	}
	return nil
}

func (e *Engine) commitStep(w *work) error {
	h := e.head
	h.Step++
	var entries []store.Entry
	size := 0
	add := func(x store.Entry) {
		entries = append(entries, x)
		size += len(x.Key) + len(x.Value)
	}
	put := func(sp store.Space, key, value []byte) { add(store.Entry{Space: sp, Key: key, Value: value}) }
	spill := func() error { // entries that only the head makes count
		err := e.store.Commit(entries)
		entries, size = entries[:0], 0
		return err
	}
	for part, d := 0, w.delta; len(d) > 0 || part == 0; part++ {
		n := min(len(d), deltaPart)
		put(spaceDelta, deltaKey(h.Step, part), d[:n])
		d = d[n:]
		if size > maxCommitBytes {
			if err := spill(); err != nil {
				return err
			}
		}
	}
	for i := range w.dead {
		text, err := json.Marshal(&w.dead[i])
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		h.Dead++
		h.DeadBytes += int64(len(text))
		put(spaceDead, key64(h.Dead), text)
		if size > maxCommitBytes || len(entries) > maxEntries {
			if err := spill(); err != nil {
				return err
			}
		}
	}
	for i := range w.effects {
		if err := e.putEffects(&w.effects[i], &h, put, func() error {
			if size > maxCommitBytes || len(entries) > maxEntries {
				return spill()
			}
			return nil
		}); err != nil {
			return err
		}
	}
	e.putResolved(w, &h, put)
	for _, dead := range [2]bool{true, false} { // of one name, the put counts
		for i := range w.puts {
			if p := &w.puts[i]; (p.Value == nil) == dead {
				if err := p.eachPiece(func(x store.Entry) error {
					entries = append(entries, x)
					if size += len(x.Key) + len(x.Value); size > maxCommitBytes || len(entries) > maxEntries {
						return spill()
					}
					return nil
				}); err != nil {
					return err
				}
			}
		}
	}
	for p, c := range w.cursors {
		text, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("cursor of %s: %w", p, err)
		}
		put(spaceCursor, []byte(p), text)
	}
	for _, p := range w.ended {
		add(store.Entry{Space: spaceCursor, Key: []byte(p), Delete: true})
	}
	if w.assembly != nil {
		put(spaceHead, []byte("assembler"), w.assembly)
		w.assembly = nil
	}
	if err := e.trim(&h, add); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if err := e.retain(&h, w.step.tick, w.wrote, add); err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("head: %w", err)
	}
	put(spaceHead, []byte("head"), text)
	if err := e.store.Commit(entries); err != nil {
		return err
	}
	e.lament(&e.head, &h)
	e.head = h
	w.status.count(&h)
	e.committed.Store(h.Step)
	return nil
}

// putEffects writes findings under their ids, those not stored yet with the next
// order, and what is to be delivered into the outbox.
func (e *Engine) putEffects(x *effect, h *head, put func(store.Space, []byte, []byte), room func() error) error {
	orders := map[string][]byte{} // of findings written in this step
	sizes := map[string]int64{}   // of these
	for i, text := range x.findings {
		id := []byte(x.ids[i])
		order := orders[x.ids[i]]
		before := sizes[x.ids[i]] // of what it takes the place of
		if order == nil {
			old, err := e.store.Get(spaceFinding, id)
			if err != nil {
				return err
			}
			if before = int64(len(old)); before >= 8 {
				order = old[:8:8]
				// Beyond the head it is of a step that was cut off behind a spill.
				h.Order = max(h.Order, order64(order))
			}
		}
		if order == nil {
			h.Order++
			order = key64(h.Order)
			put(spaceOrder, order, id)
		}
		orders[x.ids[i]] = order
		sizes[x.ids[i]] = 8 + int64(len(text))
		h.FindingBytes += sizes[x.ids[i]] - before
		put(spaceFinding, id, append(order[:8:8], text...))
		if x.outbox[i] {
			h.Outbox++
			h.OutboxBytes += int64(len(text))
			put(spaceOutbox, key64(h.Outbox), text)
		}
		if err := room(); err != nil {
			return err
		}
	}
	for _, p := range x.panes {
		put(spacePane, p.key, p.value)
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

func order64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }
