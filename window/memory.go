package window

import (
	"math"
	"slices"
	"unsafe"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/flat"
)

// The state of a machine has [Config.Memory]. Near that, cold keys go to disk whatever the caps are. Beyond it the
// lowest transactions freeze before the window has passed them, as beyond the live cap. A dependency on one of
// them is a horizon finding. The decision rests on sizes that are part of the state, and on the configuration,
// which is input. So a replay decides the same.

// findingBytes is about the size of a finding that waits, or that a late record can take back.
const findingBytes = 4 << 10

// Memory is the size of the machine's state, bytes: used without the free places of its tables, taken with them.
// Room for growth is not counted, since it is not part of the state.
func (m *Machine) Memory() (used, taken int64) {
	used, taken = m.infer.Memory()
	u, t := m.graph.Memory()
	n := int64(len(m.reports.open.recent)+len(m.reports.waiting.list))*findingBytes + int64(len(m.reports.horizon.waiting))*int64(unsafe.Sizeof(waitingEdge{}))
	for i := range m.choices.frozen {
		n += int64(len(m.choices.frozen[i])) * int64(unsafe.Sizeof(lastFrozen{}))
	}
	n += flat.Size(m.timing.told.Due) + flat.Size(m.timing.told.Begun) + m.saturated.memory() + int64(len(m.asking.asked))*int64(unsafe.Sizeof(m.asking.asked[0]))
	return used + u + n, taken + t + n
}

func (f *saturated) memory() (n int64) {
	n = flat.Size(f.due) + flat.Size(f.taken) + flat.Size(f.late) + flat.Size(f.keys) + flat.Size(f.passed)
	if f.sessions != nil {
		n += f.sessions.Memory()
	}
	if f.plain != nil {
		n += f.plain.Memory()
	}
	return n
}

// limitMemory fits the bounds of tables that have their own to the configured memory.
func (m *Machine) limitMemory() { m.infer.LimitMemory(m.cfg.Memory) }

// Parts of the memory, in sixteenths. From tightPart in use on, cold state goes to disk. From fullPart on,
// transactions freeze. Free places of tables do not go back. After a stream of another kind they may take much,
// tablesPart with the places in use. Then usedPart is in use at most.
const (
	tightPart  = 10
	fullPart   = 14
	tablesPart = 18
	usedPart   = 8
)

// beyond says whether more than this part of the memory is in use.
func (m *Machine) beyond(part int64) bool {
	if m.cfg.Memory == 0 {
		return false
	}
	used, taken := m.Memory()
	return used > m.cfg.Memory/16*part || taken > m.cfg.Memory/16*tablesPart && used > m.cfg.Memory/16*usedPart
}

// tight says whether cold state goes to disk below the caps.
func (m *Machine) tight() bool { return m.beyond(tightPart) }

// squeeze freezes the lowest transactions, settled or not, while the state takes more than it may.
func (m *Machine) squeeze() {
	if m.cfg.Unbounded || !m.beyond(fullPart) {
		return
	}
	if m.timing.told.Off == "" { // it holds on to records
		m.timing.stop(offMemory)
	}
	live := m.graph.NumLive()
	share := live/squeezeShare + 1
	frozen := 0
	for most := live - share; frozen < share && most > -share; most -= share { // some may live in one order only, and have left the others
		for _, v := range m.freezeTo(most) {
			m.reports.squeezed = max(m.reports.squeezed, m.infer.Info(uint32(v)).End)
			m.squeezed = append(m.squeezed, v)
		}
		frozen += len(m.squeezed)
		m.release(m.squeezed)
		m.squeezed = m.squeezed[:0]
	}
	m.Counters.Squeezed += int64(frozen)
	m.out.Reset()
	if frozen > 0 { // transactions that do not count are in no order. The ones that are as old go too
		m.infer.Expire(m.reports.squeezed, &m.out)
	} else {
		m.infer.ExpireShare(squeezeShare, &m.out)
	}
	m.apply(work{cause: finding.OtherRecord})
}

// outOfMemory says whether one of the transactions left before the window had passed it, and when the memory was full.
func (s *reports) outOfMemory(txns []noted) bool {
	return s.squeezed > 0 && slices.ContainsFunc(txns, func(x noted) bool {
		return x.End <= s.squeezed && (s.clock.watermark == math.MaxInt64 || x.End >= s.clock.watermark-s.window())
	})
}

// One in squeezeShare of the live transactions freezes at once: a step brings at most 1 MiB of records.
const squeezeShare = 16

// keep says how many keys, or sessions, of those there may stay in memory: the cap, or fewer than now while memory is
// tight.
func (m *Machine) keep(there int, tight bool) int {
	if tight {
		return min(m.cfg.KeyCap, there-there/squeezeShare-1)
	}
	return m.cfg.KeyCap
}
