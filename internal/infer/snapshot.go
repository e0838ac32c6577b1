package infer

import (
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

type scalars struct {
	gen                                                      uint32
	joined, sessionOrder, nameless, deletes                  bool
	absenceAsked, expiryAsked                                uint32
	hand, sessHand, txnHand, nameHand                        uint32
	keysSpilled, txnsSpilled, sessionsSpilled, spillReturned int64
	baselineEnds, greatest, untimed, begunRetired            int64
	counters                                                 ledger.Counters
	reads                                                    ledger.Reads
}

// AppendState writes all that the state remembers to dst.
func (s *memory) AppendState(dst *flat.Writer) *flat.Writer {
	c := scalars{
		gen: s.Gen, joined: s.joined, sessionOrder: s.HasSessionOrder, nameless: s.Nameless, deletes: s.Deletes, absenceAsked: s.Absence.Asked, expiryAsked: s.expiry.Asked,
		hand: s.Spill.Hand, sessHand: s.Spill.SessHand, txnHand: s.Spill.TxnHand, nameHand: s.Spill.NameHand,
		keysSpilled: s.Spill.Keys, txnsSpilled: s.Spill.Txns, sessionsSpilled: s.Spill.Sessions, spillReturned: s.Spill.Returned,
		baselineEnds: s.BaselineEnds, greatest: s.Greatest, untimed: s.UntimedPatience, begunRetired: s.BegunRetired, counters: s.Counters, reads: s.ReadCounts,
	}
	dst = flat.AppendValue(dst, "scalars", &c)
	dst = flat.Append(dst, "txns", s.Txns)
	dst = flat.Append(dst, "keys", s.Keys)
	dst = flat.Append(dst, "versions", s.Versions)
	dst = flat.Append(dst, "writes", s.Writes)
	dst = flat.Append(dst, "readers", s.Readers)
	dst = s.Linear.AppendState(dst)
	dst = s.Totals.AppendState(dst)
	dst = flat.Append(dst, "sessions", s.Sessions)
	dst = s.Free.Txns.AppendState(dst, "freeTxns")
	dst = s.Free.Versions.AppendState(dst, "freeVersions")
	dst = s.Free.Writes.AppendState(dst, "freeWrites")
	dst = s.Free.Readers.AppendState(dst, "freeReaders")
	dst = s.Free.Keys.AppendState(dst, "freeKeys")
	dst = s.Free.Sessions.AppendState(dst, "freeSessions")
	count := int64(len(s.Seqs))
	dst = flat.AppendValue(dst, "seqs", &count)
	for i := range s.Seqs {
		dst = flat.AppendValue(dst, "base", &s.Seqs[i].Base)
		dst = flat.Append(dst, "words", s.Seqs[i].Words)
	}
	dst = flat.Append(dst, "heap", s.Absence.Heap)
	dst = flat.Append(dst, "heap", s.Patient.Heap)
	dst = flat.Append(dst, "heap", s.expiry.Heap)
	dst = flat.Append(dst, "late", s.Late)
	dst = flat.Append(dst, "unsure", s.unsure)
	dst = flat.Append(dst, "held", s.Held)
	dst = flat.Append(dst, "heldVersions", s.HeldVersions)
	dst = s.ByID.AppendState(dst, "byID")
	dst = s.ByKey.AppendState(dst, "byKey")
	dst = s.ByVersion.AppendState(dst, "byVersion")
	dst = s.BySession.AppendState(dst, "bySession")
	dst = flat.Append(dst, "lingering", s.Spill.Lingering)
	dst = flat.Append(dst, "dead", s.Spill.Dead)
	dst = s.Spill.Out.AppendState(dst)
	dst = s.Records.AppendState(dst)
	dst = s.Names.AppendState(dst)
	dst = s.AppendScans(dst)
	dst = s.Partial.AppendState(dst)
	dst = s.Values.AppendState(dst)
	dst = s.Twice.AppendState(dst)
	dst = s.Aborts.AppendState(dst)
	dst = s.AppendSigns(dst)
	dst = s.AppendKept(dst)
	return s.Ids.AppendState(dst)
}

// ReadState replaces what s remembers by what AppendState wrote.
func (s *memory) ReadState(r *flat.Reader) {
	var c scalars
	flat.ReadValue(r, "scalars", &c)
	s.Gen, s.joined, s.Absence.Asked, s.expiry.Asked = c.gen, c.joined, c.absenceAsked, c.expiryAsked
	s.Spill.Hand, s.Spill.SessHand, s.Spill.TxnHand, s.Spill.NameHand = c.hand, c.sessHand, c.txnHand, c.nameHand
	s.Spill.Keys, s.Spill.Txns, s.Spill.Sessions, s.Spill.Returned = c.keysSpilled, c.txnsSpilled, c.sessionsSpilled, c.spillReturned
	s.HasSessionOrder, s.Nameless, s.Deletes = c.sessionOrder, c.nameless, c.deletes
	s.BaselineEnds, s.Greatest, s.Counters = c.baselineEnds, c.greatest, c.counters
	defer s.ReadCounts.Restore(&s.Ledger)
	s.UntimedPatience, s.BegunRetired, s.ReadCounts = c.untimed, c.begunRetired, c.reads
	flat.Read(r, "txns", &s.Txns)
	flat.Read(r, "keys", &s.Keys)
	flat.Read(r, "versions", &s.Versions)
	flat.Read(r, "writes", &s.Writes)
	flat.Read(r, "readers", &s.Readers)
	s.Linear.ReadState(r)
	s.Totals.ReadState(r)
	flat.Read(r, "sessions", &s.Sessions)
	s.Free.Txns.ReadState(r, "freeTxns")
	s.Free.Versions.ReadState(r, "freeVersions")
	s.Free.Writes.ReadState(r, "freeWrites")
	s.Free.Readers.ReadState(r, "freeReaders")
	s.Free.Keys.ReadState(r, "freeKeys")
	s.Free.Sessions.ReadState(r, "freeSessions")
	var count int64
	flat.ReadValue(r, "seqs", &count)
	s.Seqs, s.SeqWords = nil, 0
	for i := int64(0); i < count && r.Err == nil; i++ {
		var x ledger.SeqSet
		flat.ReadValue(r, "base", &x.Base)
		flat.Read(r, "words", &x.Words)
		s.Seqs = append(s.Seqs, x)
		s.SeqWords += int64(len(x.Words))
	}
	flat.Read(r, "heap", &s.Absence.Heap)
	flat.Read(r, "heap", &s.Patient.Heap)
	flat.Read(r, "heap", &s.expiry.Heap)
	flat.Read(r, "late", &s.Late)
	flat.Read(r, "unsure", &s.unsure)
	flat.Read(r, "held", &s.Held)
	flat.Read(r, "heldVersions", &s.HeldVersions)
	s.ByID.ReadState(r, "byID")
	s.ByKey.ReadState(r, "byKey")
	s.ByVersion.ReadState(r, "byVersion")
	s.BySession.ReadState(r, "bySession")
	flat.Read(r, "lingering", &s.Spill.Lingering)
	flat.Read(r, "dead", &s.Spill.Dead)
	s.EndStep()
	s.Spill.Out.ReadState(r)
	s.Records.ReadState(r)
	s.Names.ReadState(r)
	s.ReadScans(r)
	s.Partial.ReadState(r)
	s.Values.ReadState(r)
	s.Twice.ReadState(r)
	s.Aborts.ReadState(r)
	s.ReadSigns(r)
	s.ReadKept(r)
	s.Ids.ReadState(r)
	s.SessionIndexes = nil
	s.Stamp = 0
	for k := range s.Keys {
		s.Keys[k].Stamp, s.Keys[k].Touch = 0, 0
	}
}
