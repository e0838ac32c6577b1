package window

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// meet finds or makes the i-th partition of the batch in work.
func (m *Machine) meet(b *event.Batch, i uint32) uint32 {
	if p := m.parts[i]; p > 0 {
		return uint32(p - 1)
	}
	name := b.Partitions[i]
	at := slices.IndexFunc(m.partitions, func(p partition) bool { return p.Name == name })
	if at < 0 {
		at = len(m.partitions)
		m.partitions = append(m.partitions, partition{Name: name, LastTick: m.tick})
	}
	m.parts[i] = int32(at) + 1
	return uint32(at)
}

// Lag says of a partition whether its reader has more to read. A partition that
// does holds the watermark back however long it is silent.
func (m *Machine) Lag(name string, behind bool) {
	for i := range m.partitions {
		if m.partitions[i].Name == name {
			m.partitions[i].Behind = behind
			return
		}
	}
	m.partitions = append(m.partitions, partition{Name: name, LastTick: m.tick, Behind: behind})
}

// lateness and window in the time that the source lives in.
func (m *Machine) lateness() int64 {
	if m.untimed {
		return 0
	}
	return int64(m.cfg.Lateness.D)
}

func (m *Machine) window() int64 {
	if m.untimed {
		return m.cfg.WindowTxns * 1024
	}
	return int64(m.cfg.Window.D)
}

// settled says whether a transaction that ended then may retire.
func (m *Machine) settled(end int64) bool {
	return !m.cfg.Unbounded && m.watermark != math.MinInt64 && end < m.watermark-m.window()
}

// low is the time that the slowest partition has reached; partitions that were
// silent for longer than the idle time-out hold nothing back, and when all are
// silent the clock carries the time on.
func (m *Machine) low() (int64, bool) {
	if m.untimed {
		return m.logical, true
	}
	low, known := int64(math.MaxInt64), false
	for i := range m.partitions {
		p := &m.partitions[i]
		if m.tick > 0 && m.tick-p.LastTick > int64(m.cfg.Idle) && !p.Behind {
			continue
		}
		if !p.Seen {
			return 0, false
		}
		low, known = min(low, p.Max), true
	}
	if !known && m.tick > 0 && m.timed && m.cfg.Clamp {
		return m.tick - int64(m.cfg.Idle), true
	}
	return low, known
}

// advance moves the watermark as far as the partitions allow, never back, and
// does what then is due.
func (m *Machine) advance() {
	if m.cfg.Unbounded {
		return
	}
	if m.graph.NumLive() > m.cfg.LiveCap {
		m.freeze()
	}
	low, ok := m.low()
	if !ok || low-m.lateness() <= m.watermark {
		return
	}
	m.watermark = low - m.lateness()
	m.decide()
	// Retiring goes in strides of a small part of the window, so that what is
	// touched then is touched together.
	if stride := m.window() / 512; m.watermark-m.retiredAt < stride {
		return
	}
	m.retiredAt = m.watermark
	m.retire()
	m.panes.closeSettled(m)
}

// decide answers what rested on records that should have come by now.
func (m *Machine) decide() {
	if !m.infer.Undecided(m.watermark) {
		return
	}
	m.out.Reset()
	m.infer.Decide(m.watermark, &m.out)
	m.apply()
}

// retire lets settled transactions go, and the lowest ones beyond the live cap.
func (m *Machine) retire() {
	limit := m.watermark - m.window()
	m.release(m.graph.Retire(limit))
	m.out.Reset()
	m.infer.Expire(limit, &m.out)
	m.apply()
}

// freeze retires the lowest transactions beyond the live cap, settled or not.
func (m *Machine) freeze() {
	frozen := m.graph.Freeze(m.cfg.LiveCap - m.cfg.LiveCap/16)
	m.Counters.Frozen += int64(len(frozen))
	m.release(frozen)
}
