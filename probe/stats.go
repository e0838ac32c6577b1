package probe

import (
	"math/bits"
	"sync"
	"time"

	"github.com/isowatch/isowatch/event"
)

// Stats count transactions and their latency, in bounded memory. The zero value is ready,
// and safe for concurrent use.
type Stats struct {
	mu     sync.Mutex
	counts [3]int64 // committed, aborted, unknown
	// latency counts by the bits of the nanoseconds and the three below the highest:
	// each bucket is at most an eighth wide.
	latency [64 * 8]int64
	longest time.Duration
}

// Add counts a record.
func (s *Stats) Add(r *event.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Status {
	case event.Committed:
		s.counts[0]++
	case event.Aborted:
		s.counts[1]++
	default:
		s.counts[2]++
	}
	took := max(0, r.End-r.Start)
	s.latency[bucket(uint64(took))]++
	s.longest = max(s.longest, time.Duration(took))
}

// bucket is where a number of nanoseconds is counted.
func bucket(n uint64) int {
	if n < 8 {
		return int(n)
	}
	high := bits.Len64(n) - 1
	return (high-2)*8 + int(n>>(high-3)&7)
}

// upper is the largest number that a bucket counts.
func upper(bucket int) uint64 {
	if bucket < 8 {
		return uint64(bucket)
	}
	high := bucket/8 + 2
	return uint64(8+bucket%8+1)<<(high-3) - 1
}

// Outcomes are the transactions so far.
func (s *Stats) Outcomes() (committed, aborted, unknown int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[0], s.counts[1], s.counts[2]
}

// Latency is the longest time that the share of the transactions, from 0 to 1, took. It is up
// to an eighth too long, and 0 without transactions.
func (s *Stats) Latency(share float64) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := int64(share * float64(s.counts[0]+s.counts[1]+s.counts[2]))
	for n, count := range s.latency {
		if left -= count; left <= 0 && count > 0 {
			return min(time.Duration(upper(n)), s.longest)
		}
	}
	return s.longest
}
