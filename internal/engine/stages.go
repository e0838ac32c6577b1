package engine

import (
	"sync/atomic"
	"time"
)

// Stages of a step, in order.
const (
	StageGather = iota // from its first record to handing it on
	StageStep          // the machines, and a snapshot's copy of them
	StageCommit        // until it is in the store
	stageCount
)

// stageNames are the names in the metric.
var stageNames = [stageCount]string{"gather", "step", "commit"}

// stageBounds are the upper bounds of the buckets, ns.
var stageBounds = [...]time.Duration{
	200 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond,
	20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second,
}

// stages are distributions of how long the stages took in this process, of steps with records.
type stages [stageCount]struct {
	counts [len(stageBounds) + 1]atomic.Uint64 // the last: longer than every bound
	sum    atomic.Int64                        // ns
}

func (s *stages) note(stage int, took time.Duration) {
	n := 0
	for n < len(stageBounds) && took > stageBounds[n] {
		n++
	}
	s[stage].counts[n].Add(1)
	s[stage].sum.Add(int64(took))
}

// note counts the time since began for a step with records.
func (w *work) note(s *stages, stage int, began time.Time) {
	if len(w.step.batch.Txns) > 0 {
		s.note(stage, time.Since(began))
	}
}

// Stage is the distribution of how long a stage of steps took.
type Stage struct {
	Name  string
	Count uint64
	Sum   float64            // seconds
	UpTo  map[float64]uint64 // how many took at most so many seconds
}

// Stages has the distributions of the steps with records of this process.
func (e *Engine) Stages() []Stage {
	var all []Stage
	for i := range e.stages {
		x := Stage{Name: stageNames[i], Sum: time.Duration(e.stages[i].sum.Load()).Seconds(), UpTo: map[float64]uint64{}}
		for n := range e.stages[i].counts {
			x.Count += e.stages[i].counts[n].Load()
			if n < len(stageBounds) {
				x.UpTo[stageBounds[n].Seconds()] = x.Count
			}
		}
		all = append(all, x)
	}
	return all
}
