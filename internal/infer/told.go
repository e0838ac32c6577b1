package infer

// This file has what the machine tells inference beside records.

// LostInput counts n records that were lost before anybody read them.
func (s *ledger) LostInput(n int64) { s.Counters.Gaps += n }

// BadRecords counts n records that could not be decoded.
func (s *ledger) BadRecords(n int64) { s.Counters.DeadLetters += n }

// ConclusionFell counts a conclusion that a later record refuted after transactions had frozen under
// it. Nobody checks whether these transactions fit what is true instead.
func (s *ledger) ConclusionFell() { s.Counters.Ambiguous++ }
