package infer

import (
	"math"

	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Memory is the size of the state, bytes: used without the free places of the tables, taken with them.
// Room to grow into is not counted. So a state has the same size before and after a snapshot.
func (s *memory) Memory() (used, taken int64) {
	add := func(u, t int64) { used, taken = used+u, taken+t }
	add(ledger.SizeOf(s.Txns, &s.Free.Txns))
	add(ledger.SizeOf(s.Keys, &s.Free.Keys))
	add(ledger.SizeOf(s.Versions, &s.Free.Versions))
	add(ledger.SizeOf(s.Writes, &s.Free.Writes))
	add(ledger.SizeOf(s.Readers, &s.Free.Readers))
	add(ledger.SizeOf(s.Sessions, &s.Free.Sessions))
	add(s.SignMemory())
	add(s.Sets.Memory())
	add(s.Totals.Memory())
	add(s.Linear.Memory())
	for _, n := range []int64{
		flat.Size(s.Seqs), 8 * s.SeqWords,
		flat.Size(s.Absence.Heap), flat.Size(s.Patient.Heap), flat.Size(s.expiry.Heap), flat.Size(s.Late), flat.Size(s.unsure), flat.Size(s.Kept), flat.Size(s.Spill.Lingering), flat.Size(s.Spill.Dead),
		s.Values.Bytes(), s.Twice.Bytes(), s.Aborts.Bytes(), s.Ids.Bytes(), s.Spill.Out.Bytes(),
	} {
		add(n, n)
	}
	for _, x := range []*ledger.Index{&s.ByID, &s.ByKey, &s.ByVersion, &s.BySession} {
		add(x.Memory())
	}
	for _, a := range []*ledger.Arena{&s.Records, &s.Names} {
		add(a.InUse, a.Taken())
	}
	return used, taken
}

// Budgets of the filters of a source, bytes; all of them take 112 MiB at most. An entry of a
// value takes 8 bytes and one of an id 16. Up to three quarters of a set are used. That is
// 6,291,456 values, a quarter of that, and 786,432 ids.
const (
	valueBytes = 64 << 20 // values that are gone
	twiceBytes = 16 << 20 // the values that several may have written
	abortBytes = 16 << 20 // values of transactions that aborted
	idBytes    = 16 << 20
)

// LimitMemory bounds the filters, and other state beside the window, by a share of the memory of the state. 0 stands
// for the built-in bounds. A full filter forgets its oldest entries, or costs needless reads of the store.
func (s *memory) LimitMemory(room int64) {
	if room == 0 {
		room = math.MaxInt64
	}
	s.KeepUnobserved(int(min(maxTentative, max(room/8/tentativeBytes, 1<<7))))
	s.Signs.Most = int(min(causes.MostSightings, max(room/64/16, 1<<8)))
	cut := func(most int64) int { return int(min(most, max(room/16, 1<<15))) }
	s.Values.Limit, s.Twice.Limit, s.Aborts.Limit, s.Ids.Limit = cut(valueBytes), cut(twiceBytes), cut(abortBytes), cut(idBytes)
	s.Spill.Out.Limit = cut(ledger.SpillBytes)
}

// SetOptions lets o take effect on what is taken in and decided from now on.
func (s *memory) SetOptions(o ledger.Options) {
	if !o.Linear {
		s.Linear.ForgetAll()
	}
	s.SetRowOptions(o)
}
