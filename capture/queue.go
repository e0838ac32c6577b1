package capture

import "sync"

// batchBytes is how much the sink gets at once, unless one record is longer.
const batchBytes = 256 << 10

// batch is records one behind the other, each with a line feed.
type batch struct {
	data  []byte
	ends  []int    // behind each line feed
	views [][]byte // see lines
}

// lines are the records, without their line feeds, until the next call.
func (b *batch) lines() [][]byte {
	b.views = b.views[:0]
	from := 0
	for _, end := range b.ends {
		b.views = append(b.views, b.data[from:end-1:end-1])
		from = end
	}
	return b.views
}

func (b *batch) add(line []byte) {
	b.data = append(append(b.data, line...), '\n')
	b.ends = append(b.ends, len(b.data))
}

// queue is what waits for the sink, in order, the oldest batch first, that being
// sent included. Its memory is at most max bytes, and one batch that is kept for reuse.
type queue struct {
	wake chan struct{} // holds one when there is something to do
	max  int

	mu         sync.Mutex
	batches    []*batch
	spare      *batch
	sending    bool // batches[0] is with the sink
	bytes      int
	lost, told int64 // transactions that were dropped, and of how many the monitor was told
	isClosed   bool
}

func (q *queue) init(max int) {
	q.max, q.wake = max, make(chan struct{}, 1)
}

// put queues a record; false: there is no room. It waits for nobody but other calls
// of this queue, each of which copies one record at most.
func (q *queue) put(line []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed || q.bytes+len(line)+1 > q.max {
		return false
	}
	q.push(line)
	return true
}

func (q *queue) push(line []byte) {
	last := len(q.batches) - 1
	if last < 0 || last == 0 && q.sending || len(q.batches[last].data)+len(line) >= batchBytes {
		q.batches = append(q.batches, q.fresh())
		last++
	}
	q.batches[last].add(line)
	q.bytes += len(line) + 1
	q.signal()
}

func (q *queue) fresh() *batch {
	if b := q.spare; b != nil {
		q.spare = nil
		return b
	}
	return &batch{data: make([]byte, 0, batchBytes)}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// lose counts transactions of which there is no record.
func (q *queue) lose(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += n
	q.signal()
}

// take is the oldest batch, which stays in the queue until done; nil: there is none.
// With ended there will be none.
func (q *queue) take() (b *batch, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.batches) == 0 {
		return nil, q.isClosed && q.lost == q.told
	}
	q.sending = true
	return q.batches[0], false
}

// done takes the batch that was sent out of the queue.
func (q *queue) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.batches[0]
	q.batches[0] = nil
	q.batches = q.batches[1:]
	q.sending = false
	q.bytes -= len(b.data)
	if cap(b.data) <= 2*batchBytes {
		b.data, b.ends = b.data[:0], b.ends[:0]
		q.spare = b
	}
}

// tell queues what say makes of the transactions that were lost since the last call,
// if any were. There is always room for it.
func (q *queue) tell(say func(lost int64) [][]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lost == q.told {
		return
	}
	for _, line := range say(q.lost - q.told) {
		q.push(line)
	}
	q.told = q.lost
}

// close lets nothing in any more; false: it was closed before.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.isClosed
	q.isClosed = true
	q.signal()
	return !was
}

// held is how many records wait.
func (q *queue) held() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, b := range q.batches {
		n += len(b.ends)
	}
	return n
}

func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}
