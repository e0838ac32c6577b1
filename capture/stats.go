package capture

import "sync/atomic"

// Stats count what became of transactions, since the recorder was made.
type Stats struct {
	Open      int64 // began, and have not ended; one that grows without end is a missing End
	Recorded  int64 // put into the queue
	Delivered int64 // records that the sink took
	Unsampled int64 // no record: the sample holds no key of theirs
	Reduced   int64 // ranges of hashed keys, recorded as reads of their rows

	// Transactions that were dropped, and told to the monitor as missing.
	Full    int64 // the queue was full, or the recorder closed
	TooLong int64 // beyond MaxRecord, 100,000 operations, or the sink's own bound
	// NoJSON: a value has no JSON, such as NaN or a channel, or its method panics. Or a plain
	// value is nested over 24 deep, or names a field twice. Or a key of a range is not UTF-8.
	NoJSON int64

	Failures    int64 // writes that failed; they are repeated
	QueuedBytes int   // of records that wait, those being written included
}

// Dropped is how many transactions were dropped.
func (s Stats) Dropped() int64 { return s.Full + s.TooLong + s.NoJSON }

type counters struct {
	open, recorded, delivered, unsampled, full, tooLong, noJSON, reduced, failures atomic.Int64
}

// Stats are the counts so far.
func (r *Recorder) Stats() Stats {
	if r == nil {
		return Stats{}
	}
	c := &r.stats
	return Stats{
		Open: c.open.Load(), Recorded: c.recorded.Load(), Delivered: c.delivered.Load(), Unsampled: c.unsampled.Load(),
		Full: c.full.Load(), TooLong: c.tooLong.Load(), NoJSON: c.noJSON.Load(), Reduced: c.reduced.Load(), Failures: c.failures.Load(),
		QueuedBytes: r.queue.size(),
	}
}

// Err is why the last write failed, nil when it did not.
func (r *Recorder) Err() error {
	if r == nil {
		return nil
	}
	return r.sender.lastError()
}
