package window

import (
	"math"
	"slices"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
)

// meet finds or makes the i-th partition of the batch in work.
func (k *clock) meet(b *event.Batch, i uint32) uint32 {
	if p := k.parts[i]; p > 0 {
		return uint32(p - 1)
	}
	name := b.Partitions[i]
	at := slices.IndexFunc(k.partitions, func(p partition) bool { return p.Name == name })
	if at < 0 {
		at = len(k.partitions)
		k.partitions = append(k.partitions, partition{Name: name, Quiet: k.tick})
	}
	k.parts[i] = int32(at) + 1
	return uint32(at)
}

// Standing is the latest that is known of a partition's reader. The numbers are
// part of the persisted form.
type Standing uint8

const (
	NoNews Standing = iota
	// Behind: there is more to read, or the partition cannot be read now. It
	// holds the watermark back however long it is silent.
	Behind
	// AtEnd: the reader stands at the partition's end. A reader that goes on to stand there
	// reports it again and again: silence counts as far as it is confirmed.
	AtEnd
	// Left: nobody reads the partition any more. It holds nothing back unless
	// there is news of it again.
	Left
)

// confirmEvery is how far apart two confirmations of a partition's silence may be, ns. Readers
// give one every 0.5 s. If none comes for longer, the partition or the machine was out of
// reach, and silence begins again.
const confirmEvery = int64(3 * time.Second)

// Stand takes in what is known of a partition's reader at the tick of the latest
// step.
func (m *Machine) Stand(name string, s Standing) {
	if s == NoNews {
		return
	}
	m.reopen()
	i := slices.IndexFunc(m.clock.partitions, func(p partition) bool { return p.Name == name })
	if i < 0 {
		i = len(m.clock.partitions)
		m.clock.partitions = append(m.clock.partitions, partition{Name: name, Quiet: m.clock.tick})
	}
	p := &m.clock.partitions[i]
	p.Standing = s
	if s != AtEnd {
		return
	}
	if m.clock.tick-p.Confirmed > confirmEvery {
		p.Quiet = m.clock.tick
	}
	p.Confirmed = m.clock.tick
}

// idle says whether p has been silent for longer than the idle time-out, and
// still is as far as one can know.
func (k *clock) idle(p *partition) bool {
	return p.Confirmed-p.Quiet > int64(k.cfg.Idle) && p.Standing == AtEnd && k.tick-p.Confirmed <= confirmEvery
}

// lateness and window in the time that the source lives in.
func (o *core) lateness() int64 {
	if o.untimed {
		return 0
	}
	return int64(o.cfg.Lateness.D)
}

func (o *core) window() int64 {
	if o.untimed {
		return o.cfg.WindowTxns * 1024
	}
	return int64(o.cfg.Window.D)
}

// low is the time that the slowest partition has reached. Partitions that are idle or left hold
// nothing back. When all are, the clock carries the time on.
func (k *clock) low() (int64, bool) {
	if k.untimed {
		return k.logical, true
	}
	low, known, seen := int64(math.MaxInt64), false, false
	for i := range k.partitions {
		p := &k.partitions[i]
		if k.idle(p) || p.Standing == Left {
			seen = seen || p.Seen
			continue
		}
		if !p.Seen {
			return 0, false
		}
		low, known = min(low, p.Max), true
	}
	if !known && seen && k.tick > 0 && k.timed && k.cfg.Clamp {
		return k.tick - int64(k.cfg.Idle), true
	}
	return low, known
}

// Hold says that a transaction which began then is still open in assembly: in the
// steps to come the watermark does not pass it. math.MaxInt64 holds nothing. It is
// input, given before every step, and no part of the state. Sources that live in
// logical time are not held back: their transactions begin when they come.
func (m *Machine) Hold(start int64) { m.clock.held = start }

// Release is Hold for what is open behind a step, which the watermark follows.
func (m *Machine) Release(start int64, eff *Effects) {
	defer m.handOver(eff)
	m.clock.held = start
	m.advance()
}

// Reached is the event time at which the watermark would stand if nothing held it,
// math.MinInt64 while that is not known. Open transactions are given up by it: by
// the watermark, those that hold it would never be.
func (m *Machine) Reached() int64 {
	if low, ok := m.clock.low(); ok && !m.cfg.Unbounded && !m.untimed && !m.closed {
		return low - m.lateness()
	}
	return math.MinInt64
}

// advance moves the watermark as far as the partitions allow, never back, and
// does what then is due.
func (m *Machine) advance() {
	m.reports.work = work{cause: finding.OtherRecord}
	if m.cfg.Unbounded {
		return
	}
	defer m.reports.settleFaults()
	if m.graph.NumLive() > m.cfg.LiveCap {
		m.release(m.freezeTo(m.cfg.LiveCap - m.cfg.LiveCap/16))
	}
	low, ok := m.clock.low()
	if !ok || low-m.lateness() <= m.clock.watermark || m.clock.held <= m.clock.watermark && !m.untimed {
		return
	}
	m.clock.watermark = low - m.lateness()
	if !m.untimed {
		m.clock.watermark = min(m.clock.watermark, m.clock.held)
	}
	m.decide()
	m.releaseDue()
	m.reports.weaker.end(&m.reports)
	m.reports.missed.end(&m.reports)
	m.reports.contradictory.end(&m.reports)
	if len(m.sums.counting.Waiting) > 0 {
		m.sums.decideCounters()
	}
	m.timing.follow(m.clock.watermark - int64(m.cfg.MaxTxn))
	if m.saturated.on {
		m.finder.saturate()
	}
	// Retiring goes in strides of a small part of the window, so that what is
	// touched then is touched together.
	stride := m.window() / 512
	if m.freezing() {
		stride = m.window() / 32 // what is about to freeze may have to be ordered
	}
	if m.clock.watermark-m.clock.retiredAt < stride {
		return
	}
	m.clock.retiredAt = m.clock.watermark
	m.retire()
	m.reports.panes.closeSettled(m)
}

// decide answers what rested on records that should have come by now.
func (m *Machine) decide() {
	gone := m.clock.wentOn()
	if !m.infer.Undecided(m.clock.watermark, gone) {
		return
	}
	m.out.Reset()
	m.infer.Decide(m.clock.watermark, gone, &m.out)
	m.apply(work{cause: finding.OtherRecord})
}

// retire lets settled transactions go, and the lowest ones beyond the live cap.
func (m *Machine) retire() {
	limit := m.clock.watermark - m.window()
	if m.freezing() {
		m.runFrozen(func(i int) []uint32 { return m.graph.Due(i, limit) })
	}
	m.release(m.graph.Retire(limit))
	m.out.Reset()
	m.infer.Expire(limit, &m.out)
	m.apply(work{cause: finding.OtherRecord})
}

// freezeTo retires the lowest transactions, settled or not, until so many live.
func (m *Machine) freezeTo(most int) (frozen []incremental.Vertex) {
	most = max(most, 0)
	if m.freezing() {
		m.runFrozen(func(i int) []uint32 { return m.graph.Excess(i, most) })
	}
	frozen = m.graph.Freeze(most)
	m.Counters.Frozen += int64(len(frozen))
	return frozen
}
