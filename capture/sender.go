package capture

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// How long the sender waits after a write that failed: at first, and at most.
const (
	firstWait = 50 * time.Millisecond
	lastWait  = 5 * time.Second
)

// sender hands the queue to the sink, batch by batch.
type sender struct {
	r      *Recorder
	sink   Sink
	ctx    context.Context // ends when Close gives up
	cancel context.CancelFunc
	done   chan struct{} // closed when all is over

	mu       sync.Mutex
	last     error // of the last write
	closeErr error // of the sink's Close
}

func startSender(r *Recorder, sink Sink) *sender {
	s := &sender{r: r, sink: sink, done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.run()
	return s
}

func (s *sender) run() {
	defer close(s.done)
	defer s.cancel()
	for s.ctx.Err() == nil {
		b, ended := s.r.queue.take()
		switch {
		case ended:
			s.closeSink()
			return
		case b != nil:
			if s.deliver(b.lines()) {
				s.r.queue.done()
			}
		default:
			s.wait(s.r.queue.wake, nil)
		}
		s.r.queue.tell()
	}
	s.closeSink()
}

// wait waits for either channel, or that Close gives up.
func (s *sender) wait(a <-chan struct{}, b <-chan time.Time) {
	select {
	case <-a:
	case <-b:
	case <-s.ctx.Done():
	}
}

// deliver writes lines until the sink has them; false: Close gave up.
func (s *sender) deliver(lines [][]byte) bool {
	for wait := firstWait; s.ctx.Err() == nil; wait = min(2*wait, lastWait) {
		err := s.sink.Write(s.ctx, lines)
		s.note(err)
		var rejected *Rejected
		switch {
		case err == nil:
			s.r.stats.delivered.Add(int64(len(lines)))
			return true
		case errors.As(err, &rejected):
			s.r.stats.delivered.Add(int64(len(lines) - rejected.Lines))
			s.r.stats.tooLong.Add(int64(rejected.Lines))
			s.r.queue.lose(int64(rejected.Lines))
			return true
		}
		s.r.stats.failures.Add(1)
		s.wait(nil, time.After(wait))
	}
	return false
}

func (s *sender) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = err
}

func (s *sender) lastError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// why is why Close gave up: what the sink said last, or that ctx ended.
func (s *sender) why(ctx context.Context) error {
	return cmp.Or(s.lastError(), context.Cause(ctx))
}

func (s *sender) closeSink() {
	err := s.sink.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeErr = err
}

// closed is the sink's answer to Close, once all is over.
func (s *sender) closed(ctx context.Context) error {
	select {
	case <-s.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.closeErr
	default:
		return context.Cause(ctx)
	}
}
