package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/window"
)

// How a fault is dealt with. It concerns one source only, since machines share nothing.
//
//  1. All steps before are committed. The machine is made again, from the snapshot and the deltas.
//  2. The records of the step are given to it one by one. The one that panics is the culprit. If none does, the shortest run of records that panics together is looked for.
//  3. The culprit leaves the step: a dead letter, a gap, and a file that reproduces the fault.
//  4. The machine is made once more, and does the step.
//
// A source is stopped at the third fault within an hour, or when no record is to blame.

// restored is one source as it was behind a step, alone, with what was lost before.
type restored struct {
	*sources
	index int // of the source among all
	name  string
}

// settled waits until all steps that were made are committed, and no snapshot is being written.
func (e *Engine) settled() error {
	for e.committed.Load() < e.step || e.snaps.being.Load() {
		if e.failed.Load() {
			return errors.New("the steps before could not be committed")
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// restore makes the source again as the last commit left it. Only when all is settled.
func (e *Engine) restore(index int) (*restored, error) {
	r := &restored{newSources(e.opt.Hook), index, e.sources.list[index].name}
	meta, err := e.eachPiece(context.Background(), func(p *snapshotPiece, state []byte) error {
		if p.Source != r.name {
			return nil
		}
		return r.read(p, state)
	})
	if err != nil {
		return nil, err
	}
	r.lost = meta.Lost
	err = e.replayDeltas(meta.Step+1, func(st *step, _ []byte) error { return r.do(st) })
	return r, err
}

// do does a committed step of all sources for this one.
func (r *restored) do(st *step) error {
	own, err := r.own(st)
	if err != nil {
		return err
	}
	return r.run(own)
}

// own is the part of a step that concerns this source. The step's configuration has taken effect.
func (r *restored) own(st *step) (*step, error) {
	own := *st
	own.configs = nil
	for _, c := range st.configs {
		if c.source == r.name {
			own.configs = append(own.configs, c)
		}
	}
	own.answers = nil
	if r.index < len(st.answers) {
		own.answers = st.answers[r.index : r.index+1 : r.index+1]
	}
	if err := r.apply(own.configs); err != nil {
		return nil, err
	}
	r.split(&own)
	return &own, nil
}

// again makes the source as it was before the step. It also returns the source's part of the step, with
// answers.
func (e *Engine) again(w *work, index int) (*restored, *step, error) {
	r, err := e.restore(index)
	if err != nil {
		return nil, nil, err
	}
	own, err := r.own(&w.step)
	if err != nil {
		return nil, nil, err
	}
	own.answers = make([]window.Answers, 1)
	return r, own, guarded(func() error { return e.answerFor(index, r.list[0], own, &own.answers[0]) })
}

// quarantine deals with a fault of the source in the step. At the end the source has done the step,
// or is stopped.
func (e *Engine) quarantine(w *work, index int, f *fault) error {
	x := e.sources.list[index]
	if err := e.settled(); err != nil {
		return err
	}
	x.machine = nil // it may be large
	began, strange := time.Now(), 0
	for {
		e.log.Error("checking a record failed: please report this, with the file of the fault", "source", x.name, "fault", f.text, "stack", string(f.stack))
		culprit, comesAgain, err := e.suspect(w, index)
		if err != nil {
			return err
		}
		if !comesAgain {
			strange++
		}
		if err := e.takeOut(w, index, culprit, f); err != nil {
			return err
		}
		stopping := culprit == nil && (comesAgain || strange > 1)
		r, own, err := e.again(w, index)
		if err == nil || asFault(err) != nil {
			if stopping = stopping || r.list[0].tooMany(&w.step); stopping {
				e.stop(w, r.list[0], f)
				own.batch, err = w.step.batch, nil
				r.split(own)
			}
		}
		if err == nil {
			own.faults = w.step.faults
			err = r.run(own)
		}
		if next := asFault(err); next != nil && !stopping {
			f = next
			continue
		}
		if err != nil {
			return fmt.Errorf("source %s: %w", x.name, err)
		}
		w.step.answers[index] = window.Answers{}
		if len(own.answers) > 0 {
			w.step.answers[index] = own.answers[0]
		}
		*x = *r.list[0]
		if !stopping {
			e.log.Warn("the source goes on", "source", x.name, "took", time.Since(began).Round(time.Millisecond))
		}
		return nil
	}
}

// suspect finds the record of the step that is to blame, nil if there is none. comesAgain says
// whether the fault comes again at all.
func (e *Engine) suspect(w *work, index int) (culprit *event.Txn, comesAgain bool, err error) {
	r, own, err := e.again(w, index)
	if err == nil {
		x := r.list[0]
		own.batch.Marks = nil // the marks are taken with their step
		x.tell(&r.lost, own.tick)
		if err = guarded(func() error { return x.begin(own, &own.answers[0]) }); err == nil {
			for i := range x.txns {
				err = guarded(func() error { x.take(own, x.txns[i:i+1]); return nil })
				if asFault(err) != nil {
					return &w.step.batch.Txns[x.txns[i]], true, nil
				}
			}
		}
	}
	if err != nil && asFault(err) == nil {
		return nil, false, err
	}
	// Each of them alone is fine, or even the step without them fails.
	n, at, broken := 0, []int32(nil), error(nil)
	fails := func(first int) bool {
		r, own, err := e.again(w, index)
		if err == nil {
			x := r.list[0]
			at, n = x.txns, len(x.txns)
			x.txns = x.txns[:min(first, n)]
			err = r.run(own)
		}
		if err != nil && asFault(err) == nil {
			broken = err
		}
		return asFault(err) != nil
	}
	if !fails(1 << 30) {
		return nil, false, broken
	}
	shortest := sort.Search(n, fails)
	if broken != nil || shortest == 0 {
		return nil, true, broken
	}
	return &w.step.batch.Txns[at[shortest-1]], true, nil
}

// takeOut takes the culprit out of the step; nil: none. The fault gets a file.
func (e *Engine) takeOut(w *work, index int, culprit *event.Txn, f *fault) error {
	b, name := &w.step.batch, e.sources.list[index].name
	var pos event.Position
	where := ""
	if culprit != nil {
		pos = culprit.Pos
		where = b.Where(pos)
	}
	file, err := e.writeFault(&w.step, index, where, f)
	if err != nil {
		e.log.Error("no file that reproduces the fault could be written", "source", name, "err", err)
	} else if file != "" {
		e.log.Warn("this file reproduces the fault", "source", name, "file", file)
		file = " This file reproduces it: " + file
	}
	if culprit == nil {
		return nil
	}
	record := b.Record(culprit)
	text := event.AppendJSON(nil, &record)
	w.dead = append(w.dead, DeadLetter{where, f.Error() + "." + file, string(text[:min(len(text), 64<<10)]), w.step.tick})
	b.KeepTxns(func(t *event.Txn) bool { return t.Pos != pos || string(b.Bytes(t.Source)) != name })
	w.step.faults = append(w.step.faults, faultEntry{name, faultLost, window.Gap{
		Partition: b.Partitions[pos.Partition], From: pos.Offset, To: pos.Offset + 1,
		Reason: "the program has a fault, and goes on without this record",
	}})
	return nil
}

// tooMany says whether the faults of the step are too many, with those before.
func (x *source) tooMany(st *step) bool {
	s := suspension{Faults: slices.Clone(x.Faults)}
	stop := false
	for i := range st.faults {
		if f := &st.faults[i]; f.source == x.name && f.kind == faultLost {
			stop = s.fail(st.tick) || stop
		}
	}
	return stop
}

// stop takes the source out of the step.
func (e *Engine) stop(w *work, x *source, f *fault) {
	e.log.Error("the source is stopped until the next start: its records are not checked. Please report this", "source", x.name, "fault", f.text)
	w.step.faults = append(w.step.faults, faultEntry{x.name, faultStopped, window.Gap{Reason: "stopped, for a fault of the program: " + f.text}})
	e.passOver(w, x.name)
}

// passOver takes the records of a stopped source out of the step.
func (e *Engine) passOver(w *work, name string) {
	b := &w.step.batch
	var passed suspension
	b.KeepTxns(func(t *event.Txn) bool {
		if string(b.Bytes(t.Source)) != name {
			return true
		}
		passed.pass(window.Gap{Partition: b.Partitions[t.Pos.Partition], From: t.Pos.Offset, To: t.Pos.Offset + 1, Reason: "the source was stopped, for a fault of the program"})
		return false
	})
	b.Marks = slices.DeleteFunc(b.Marks, func(m event.Mark) bool { return m.Source == name })
	for _, g := range passed.Passed {
		w.step.faults = append(w.step.faults, faultEntry{name, faultPassed, g})
	}
}

// passOverStopped does the same for all stopped sources. The first step of a life takes them up again.
func (e *Engine) passOverStopped(w *work) {
	for _, x := range e.sources.list {
		switch {
		case x.Stopped == "":
		case x.resuming:
			w.step.faults = append(w.step.faults, faultEntry{source: x.name, kind: faultResumed})
		default:
			e.passOver(w, x.name)
		}
		x.resuming = false
	}
}

// allStopped is [ErrStopped] when no source is left.
func (s *sources) allStopped() error {
	for _, x := range s.list {
		if x.Stopped == "" {
			return nil
		}
	}
	if len(s.list) == 0 {
		return nil
	}
	return fmt.Errorf("%w: source %s: %s", ErrStopped, s.list[0].name, s.list[0].Stopped)
}
