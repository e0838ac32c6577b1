package app

import (
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
)

const (
	// maxHeld is how long records wait for a moment at which no transaction runs, and
	// maxHeldBytes how much they may be by then.
	maxHeld      = time.Second
	maxHeldBytes = 256 << 10

	// probeIdle is the pace of chunks while there are no records: a partition without any is
	// taken for one that cannot be read.
	probeIdle = 500 * time.Millisecond
)

// cutMark ends the identity of a cursor behind which a transaction may have been read whose
// record was not passed on.
const cutMark = "+"

// feed passes on the records of a probe. Transactions that overlap have their records in one message.
// So a killed process leaves no record in the store that read from a transaction missing there. Where
// transactions overlap without a pause, records wait for at most maxHeld, and the cursor tells that
// there was no cut.
type feed struct {
	partition string
	epoch     string
	now       func() time.Time
	out       chan<- ingest.Chunk

	mu      sync.Mutex
	next    int64 // offset of the next message
	running int   // transactions
	held    []byte
	since   time.Time // of the first record held
	sent    time.Time // the latest chunk
	cut     bool      // no transaction that was passed on overlaps one that was not
}

// begin notes that a transaction is about to begin.
func (f *feed) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running++
}

// add takes the record of a transaction that still runs as far as the feed knows.
func (f *feed) add(r *event.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.held) == 0 {
		f.since = f.now()
	}
	f.held = append(event.AppendJSON(f.held, r), '\n')
}

// end notes that a transaction is over.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
	if f.running == 0 || len(f.held) > maxHeldBytes {
		f.flush()
	}
}

// look passes on what has waited for too long, and says that the partition was read to its
// end. It is called again and again.
func (f *feed) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	switch {
	case len(f.held) > 0 && now.Sub(f.since) >= maxHeld:
		f.flush()
	case now.Sub(f.sent) >= probeIdle:
		f.send(ingest.Chunk{CaughtUp: true})
	}
}

// flush passes on what is held.
func (f *feed) flush() {
	if len(f.held) == 0 {
		return
	}
	f.cut = f.running == 0
	f.next++
	f.send(ingest.Chunk{CaughtUp: true, Messages: []ingest.Message{{Offset: f.next - 1, Time: f.now().UnixNano(), Value: f.held}}})
	f.held = nil
}

// leave says that nothing comes until the feed is used again.
func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flush()
	f.send(ingest.Chunk{EOF: true})
}

// lose says that records of an earlier process are missing.
func (f *feed) lose(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = true
	f.send(ingest.Chunk{EOF: true, Gaps: []ingest.Gap{{From: f.next, To: f.next, Reason: reason}}})
}

func (f *feed) send(c ingest.Chunk) {
	c.Partition = f.partition
	c.Cursor = ingest.Cursor{Next: f.next, Identity: f.epoch}
	if !f.cut {
		c.Cursor.Identity += cutMark
	}
	f.sent = f.now()
	f.out <- c // input.run takes all
}

// wasCut says whether the records that led to the cursor are all that can have been read.
func wasCut(c ingest.Cursor) bool { return !strings.HasSuffix(c.Identity, cutMark) }
