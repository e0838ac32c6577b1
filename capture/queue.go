package capture

import "sync"

// batchBytes is how much the sink gets at once, unless one record is longer.
const batchBytes = 256 << 10

// maxSpare is how many batches are kept for reuse.
const maxSpare = 4

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

// queue holds the records that wait for the sink, in order, the oldest batch first. The batch
// that is being sent is included. Its memory is at most max bytes, and maxSpare batches.
type queue struct {
	wake chan struct{}             // holds one when there is something to do
	gap  func(lost int64) [][]byte // the records that tell of lost transactions
	max  int

	mu         sync.Mutex
	batches    []*batch
	spare      []*batch // at most maxSpare
	sending    bool     // batches[0] is with the sink
	bytes      int
	isFull     bool  // a record was refused, and a quarter is not free again
	lost, told int64 // transactions that were dropped, and of how many the monitor was told
	isClosed   bool
}

func (q *queue) init(max int, gap func(lost int64) [][]byte) {
	q.max, q.gap, q.wake = max, gap, make(chan struct{}, 1)
}

// put queues a record, or counts it as lost; false: there is no room. It waits only for other
// calls of this queue, and each of them copies a few records at most.
//
// Once it was full a quarter must be free again, so that the dropped records are one stretch of
// time. The loss is told before the record, which may have read a lost write.
func (q *queue) put(line []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed || q.bytes+len(line)+1 > q.max || q.isFull && q.bytes > q.max/4*3 {
		q.isFull = true
		q.lost++
		q.signal()
		return false
	}
	q.isFull = false
	q.tellLost()
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
	if n := len(q.spare); n > 0 {
		b := q.spare[n-1]
		q.spare = q.spare[:n-1]
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

// lose counts transactions without a record.
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
	if cap(b.data) <= 2*batchBytes && len(q.spare) < maxSpare {
		b.data, b.ends = b.data[:0], b.ends[:0]
		q.spare = append(q.spare, b)
	}
}

// tell queues what tells of transactions that were lost, if there are any. There is
// always room for it.
func (q *queue) tell() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tellLost()
}

func (q *queue) tellLost() {
	if q.lost == q.told {
		return
	}
	for _, line := range q.gap(q.lost - q.told) {
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
