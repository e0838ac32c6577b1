package engine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/window"
)

// DeadLetter is a record that could not be taken in.
type DeadLetter struct {
	Position string `json:"position"`
	Reason   string `json:"reason"`
	Record   string `json:"record"` // as it came, cut to 64 KiB; invalid UTF-8 replaced
	At       int64  `json:"at"`     // tick, ns since the Unix epoch
}

// doStep assembles, reads what the machines need, runs them and encodes what is to be
// committed.
func (e *Engine) doStep(w *work) error {
	b := &w.step.batch
	e.askBound()
	w.step.holds = w.step.holds[:0]
	if len(b.Parts) > 0 || e.assembler.Len() > 0 {
		e.assemble(w)
		e.refuse(w)
		e.hold(&w.step)
	} else {
		e.refuse(w)
	}
	w.assembly = e.assembler.AppendChanges(w.assembly[:0], e.step+1)
	w.assemblySince = e.assembler.LoggedSince()
	for i := range b.Bad {
		bad := &b.Bad[i]
		w.dead = append(w.dead, DeadLetter{b.Where(bad.Pos), bad.Reason, string(b.Bytes(bad.Raw)), w.step.tick})
	}
	w.step.bad = int64(len(b.Bad))
	w.step.own()
	e.warnings.doubts.note(b, e.log)
	e.reconsider()
	e.shareMemory()
	var err error
	if w.step.configs, err = e.sources.take(w.step.configs[:0]); err == nil {
		err = e.sources.apply(w.step.configs)
	}
	if err != nil {
		return err
	}
	e.passOverStopped(w)
	e.sources.split(&w.step)
	if err := e.runStep(w); err != nil {
		return err
	}
	all := w.step.concernsAll()
	for _, x := range e.sources.list {
		x.changed = x.changed || len(x.txns) > 0
		if all {
			x.measured = nil
		}
		if x.effects.Empty() {
			continue
		}
		x.changed = true
		eff, err := encodeEffects(x.name, &x.effects)
		if err != nil {
			return fmt.Errorf("source %s: %w", x.name, err)
		}
		if x.machine.Config().Hide == "" { // a source that hides values has them in no finding
			eff.raws = e.rawsOf(x.effects.Findings)
		}
		w.effects = append(w.effects, eff)
		for i := range x.effects.Repeats {
			warnRepeats(e.log, x.name, &x.effects.Repeats[i])
		}
		if s := x.effects.Stranger; s != nil {
			e.log.Warn("a session is not in the list of sessions=closed: findings wait for max-transaction again", "source", x.name, "txn", s.Txn, "session", s.Session)
		}
	}
	w.puts = e.puts(w.puts)
	e.pend(w.puts)
	e.records.Add(int64(len(b.Txns)))
	for p, c := range w.cursors {
		if before, ok := e.cursors[p]; ok && before == c {
			delete(w.cursors, p) // it is stored, or in a step before
		}
		e.cursors[p] = c
	}
	if w.step.end { // there is nothing to go on reading
		w.ended = slices.Collect(maps.Keys(e.cursors))
		clear(w.cursors)
		clear(e.cursors)
	}
	e.sinceSnapshot += int64(len(w.delta))
	if e.snapshotDue(w.step.tick) && e.snaps.being.CompareAndSwap(false, true) {
		e.sinceSnapshot, e.snapshotTick = 0, w.step.tick
		e.snaps.fresh.CompareAndSwap(asked, taken)
		w.snapshot = e.takeSnapshot()
	}
	w.status = e.measure(w.step.tick, w.waiting)
	return nil
}

// runStep runs the machines, deals with their faults, and encodes what a replay needs.
func (e *Engine) runStep(w *work) error {
	faults, err := e.answer(&w.step)
	if err != nil {
		return err
	}
	w.delta = appendDelta(w.delta[:0], &w.step)
	failed := false
	for i, err := range e.sources.runEach(&w.step) {
		if faults[i] != nil {
			err = faults[i]
		}
		if f := asFault(err); f != nil {
			err, failed = e.quarantine(w, i, f), true
		}
		if err != nil {
			return err
		}
	}
	if failed {
		w.delta = appendDelta(w.delta[:0], &w.step)
	}
	w.last = e.sources.allStopped()
	return nil
}

// snapshotDue says whether the deltas are many or old enough for a snapshot, and there
// is room for it.
func (e *Engine) snapshotDue(tick int64) bool {
	if e.snapshotTick == 0 {
		e.snapshotTick = tick
	}
	old := e.opt.SnapshotAge > 0 && tick-e.snapshotTick >= int64(e.opt.SnapshotAge)
	if !old && e.snaps.fresh.Load() != asked && e.sinceSnapshot < max(e.opt.SnapshotBytes, e.lastSnapshot.Load()/4) {
		return false
	}
	return e.opt.HasRoom(e.stateBytes())
}

// paneKey orders the panes of a source, whose name and a 0 are prefix, by their start.
func paneKey(prefix []byte, start int64) []byte {
	return binary.BigEndian.AppendUint64(prefix[:len(prefix):len(prefix)], uint64(start)^1<<63)
}

// assemble puts operation-level records together, and gives up those whose time
// is over.
func (e *Engine) assemble(w *work) {
	b := &w.step.batch
	e.assembler.Add(b)
	defer b.Pack()
	for _, x := range e.sources.list {
		e.assembler.Expire(b, []byte(x.name), x.machine.Reached(), int64(x.machine.Config().MaxTxn))
	}
	if w.step.end {
		e.assembler.ExpireAll(b, int64(e.opt.Configure("").WithDefaults().MaxTxn))
	}
}

// hold notes what the transactions in assembly hold back. Those that ended in this step count until the
// step is done.
func (e *Engine) hold(st *step) {
	for _, x := range e.sources.list {
		during, after := e.assembler.Oldest([]byte(x.name))
		if during != math.MaxInt64 {
			st.holds = append(st.holds, sourceHold{x.name, during, after})
		}
	}
}

// refuse makes dead letters of the records of sources beyond the limits.
func (e *Engine) refuse(w *work) {
	b := &w.step.batch
	b.KeepTxns(func(t *event.Txn) bool {
		reason := e.admit(b.Bytes(t.Source))
		if reason != "" {
			r := b.Record(t)
			b.AddBad(t.Pos, event.AppendJSON(nil, &r), reason)
		}
		return reason == ""
	})
	b.Marks = slices.DeleteFunc(b.Marks, func(m event.Mark) bool {
		reason := e.admit([]byte(m.Source))
		if reason != "" {
			b.AddBad(m.Pos, event.AppendMark(nil, &m), reason)
		}
		return reason != ""
	})
}

// admit meets the source of that name, or says why it does not.
func (e *Engine) admit(source []byte) (reason string) {
	switch {
	case len(source) > maxSourceName:
		return "the source's name is longer than 1 KiB"
	case !e.meet(source):
		return "too many sources: at most 1,024"
	}
	return ""
}

// meet makes the machine of a source that is new. It is false beyond the limit.
func (e *Engine) meet(name []byte) bool {
	if e.sources.find(name) != nil {
		return true
	}
	if len(e.sources.list) >= maxSources {
		return false
	}
	cfg := e.opt.Configure(string(name))
	x := e.sources.add(string(name), cfg)
	cfg = x.machine.Config()
	x.next = &cfg
	return true
}

func encodeEffects(source string, eff *window.Effects) (effect, error) {
	out := effect{source: source}
	for i := range eff.Findings {
		f := &eff.Findings[i]
		text, err := json.Marshal(f)
		if err != nil {
			return effect{}, fmt.Errorf("finding %s: %w", f.ID, err)
		}
		out.findings = append(out.findings, text)
		out.ids = append(out.ids, f.ID)
		out.outbox = append(out.outbox, f.State != finding.Waiting && (f.State != finding.Final || f.Kind == finding.KindGap && len(f.Txns) == 0)) // lost input is final at once
	}
	out.fallen = slices.Clone(eff.Fallen)
	for i := range eff.Panes {
		p := &eff.Panes[i]
		text, err := json.Marshal(p)
		if err != nil {
			return effect{}, fmt.Errorf("pane %d: %w", p.Start, err)
		}
		out.panes = append(out.panes, pane{p.Start, paneKey(append([]byte(source), 0), p.Start), text})
	}
	return out, nil
}
