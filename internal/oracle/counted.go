package oracle

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// A counter whose operations tell versions holds its value and its version. An increment that
// says what it replaced did so when it committed; where its transaction had not met the counter
// before, it has read that version too.

// untold is the version that an increment leaves which does not tell it.
const untold = -1

// tell has o tell these versions, 0 for none, or now and then less.
func (s *kindSimulation) tell(o *workload.Op, version, replaced int64) {
	if !s.kinds.Counted {
		return
	}
	o.Version, o.PrevVersion = version, replaced
	if s.rng.Float64() >= s.kinds.Untold {
		return
	}
	if o.PrevVersion = 0; s.rng.IntN(2) == 0 {
		o.Version = 0
	}
}

// versionAt is the version of a counter that holds this, 0 for the initial one.
func versionAt(now []int64) int64 {
	if len(now) < 2 {
		return 0
	}
	return now[1]
}

// incremented is a counter behind o. ok is false where it had to be another version before.
func incremented(now []int64, o *workload.Op, met bool) (after []int64, ok bool) {
	left := o.Version
	if left == 0 {
		left = untold
	}
	return []int64{counted(now) + o.Value, left}, met || o.PrevVersion == 0 || versionAt(now) == o.PrevVersion
}

// counts says whether o shows what the counter holds. own says that the transaction itself left it.
func counts(o *workload.Op, now []int64, own bool) bool {
	if o.Absent {
		return len(now) == 0
	}
	return counted(now) == o.Value && (o.Version == 0 || versionAt(now) == o.Version || own && versionAt(now) == untold)
}

// met says whether one of the operations names the version of the counter, or is an increment.
func met(ops []workload.Op, key string) bool {
	return slices.ContainsFunc(ops, func(o workload.Op) bool { return o.Key == key && (o.Kind == event.Inc || o.Version != 0 || o.Absent) })
}

// installed is a counter when t commits, where now is there and t's own view of it ends with own.
// What t read, it replaces, also under prefix consistency, where another one may have done so
// since. What it only says it replaced must be there. ok is false where it is not.
func installed(t *workload.Txn, key string, now, own []int64) (then []int64, ok bool) {
	sum, _ := increments(t, key)
	added := []int64{counted(now) + sum, leaves(t, key)}
	first := slices.IndexFunc(t.Ops, func(o workload.Op) bool { return o.Kind == event.Inc && o.Key == key })
	replaced := t.Ops[first].PrevVersion
	seen := slices.IndexFunc(t.Ops[:first], func(o workload.Op) bool { return o.Key == key && (o.Version != 0 || o.Absent) })
	switch {
	case seen < 0 && replaced == 0:
		return added, true
	case seen < 0 || replaced == 0 || replaced == t.Ops[seen].Version:
		return own, true
	}
	return added, versionAt(now) == replaced
}

// leaves is the version of the counter that t leaves.
func leaves(t *workload.Txn, key string) int64 {
	left := int64(untold)
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Kind == event.Inc && o.Key == key {
			left = o.Version
		}
	}
	if left == 0 {
		return untold
	}
	return left
}

// asRegisters is h with counters that tell versions told as registers of their versions, for
// levels at which each read may be of another version. Values say nothing there, nor does a read
// that does not tell its version.
func asRegisters(h History) History {
	told := map[string]bool{}
	for i := range h {
		for _, o := range h[i].Ops {
			if isCounted(&o) && o.Version+o.PrevVersion != 0 {
				told[o.Key] = true
			}
		}
	}
	if len(told) == 0 {
		return h
	}
	plain := h.Clone()
	for i := range plain {
		t := &plain[i]
		t.Ops = nil
		for j, o := range h[i].Ops {
			switch {
			case !isCounted(&o) || !told[o.Key]:
				t.Ops = append(t.Ops, o)
			case o.Kind == event.Inc:
				if o.PrevVersion != 0 && (!met(h[i].Ops[:j], o.Key) || nobodyLeft(h, i, &o)) && !added(h[i].Ops[:j], o.Key) {
					t.Ops = append(t.Ops, workload.Read(o.Key, o.PrevVersion))
				}
				write := workload.Write(o.Key, o.Version)
				if write.PrevVersion = o.PrevVersion; o.Version == 0 {
					write.Value = -int64(100*i + j + 1) // nobody names it
				}
				t.Ops = append(t.Ops, write)
			case ownUntold(h[i].Ops[:j], o.Key):
			case o.Absent:
				t.Ops = append(t.Ops, workload.ReadAbsent(o.Key))
			case o.Version != 0:
				t.Ops = append(t.Ops, workload.Read(o.Key, o.Version))
			}
		}
	}
	return plain
}

// Uncounted is h with counters that tell no versions.
func Uncounted(h History) History {
	plain := h.Clone()
	for i := range plain {
		for j := range plain[i].Ops {
			if o := &plain[i].Ops[j]; isCounted(o) {
				o.Version, o.PrevVersion, o.Absent = 0, 0, false
			}
		}
	}
	return plain
}

// ownUntold says whether the last increment does not tell what it left.
func ownUntold(ops []workload.Op, key string) (is bool) {
	for _, o := range ops {
		if o.Kind == event.Inc && o.Key == key {
			is = o.Version == 0
		}
	}
	return is
}

func added(ops []workload.Op, key string) bool {
	return slices.ContainsFunc(ops, func(o workload.Op) bool { return o.Key == key && o.Kind == event.Inc })
}

// nobodyLeft says whether no other transaction may have left what o says that it replaced: it must
// have seen that then.
func nobodyLeft(h History, i int, o *workload.Op) bool {
	for j := range h {
		if j != i && h[j].Status != event.Aborted && leaves(&h[j], o.Key) == o.PrevVersion {
			return false
		}
	}
	return true
}

func isCounted(o *workload.Op) bool { return o.Kind == event.Inc || o.Data == event.Counter }

// allThere says whether what each says that it replaced of a register was left by somebody.
func allThere(txns []*workload.Txn) bool {
	for _, t := range txns {
		for i := range t.Ops {
			o := &t.Ops[i]
			first := !slices.ContainsFunc(t.Ops[:i], func(p workload.Op) bool { return p.Kind == event.Write && p.Key == o.Key })
			if o.Kind == event.Write && first && o.PrevVersion != 0 && !slices.ContainsFunc(txns, func(p *workload.Txn) bool {
				left := &workload.Txn{Ops: []workload.Op{{Kind: event.Write, Key: o.Key, Other: workload.Other{PrevVersion: o.PrevVersion}}}}
				return p != t && comesBehind(left, p)
			}) {
				return false
			}
		}
	}
	return true
}

// comesBehind says whether t replaces, by what it says, what other left of a register.
func comesBehind(t, other *workload.Txn) bool {
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Kind != event.Write || o.PrevVersion == 0 {
			continue
		}
		left := int64(0)
		for j := range other.Ops {
			if p := &other.Ops[j]; p.Kind == event.Write && p.Key == o.Key {
				left = p.Value
			}
		}
		if left == o.PrevVersion {
			return true
		}
	}
	return false
}
