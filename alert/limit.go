package alert

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Held counts the findings of one pattern that were held back.
type Held struct {
	Pattern
	Key       string    `json:"pattern"`
	Title     string    `json:"title"`
	Findings  int       `json:"findings"`            // held back
	Withdrawn int       `json:"withdrawn,omitempty"` // of these, meanwhile
	IDs       []string  `json:"ids"`                 // the first ten
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until"`
	PageURL   string    `json:"page_url,omitempty"` // the findings of its source and anomaly
}

// LimitOptions say how much a sink is given.
type LimitOptions struct {
	PerPattern int           // findings of one pattern that go out in each Every
	Every      time.Duration // beginning with the first of them
	Pages      string        // where people reach the pages, for the links of digests; "": no link
	Now        func() time.Time
	Metrics    *Metrics // nil: nothing is counted
}

const (
	maxExamples = 10
	// Memory and what is stored at each delivery are bounded by these: 1,000 patterns
	// of some 300 bytes, 1,000 ids of 24. Patterns beyond share one bucket a source.
	maxPatterns = 1000
	maxHeldIDs  = 1000
	otherwise   = "other"
)

// Limiter gives a sink so many findings of each pattern, and a digest of the others. Later
// revisions of a finding that went out go out too. Revisions of a finding that was held
// back only count in the digest, while its id is remembered. That a replay has confirmed
// one is news either way, of a pattern of its own.
type Limiter struct {
	sink  Digester
	opt   LimitOptions
	state limiterState
}

type limiterState struct {
	Buckets map[string]*bucket `json:"buckets"`
	IDs     []heldID           `json:"ids"` // oldest first
}

type heldID struct{ ID, Bucket string }

// bucket counts one pattern from Began on, for Every.
type bucket struct {
	Began time.Time `json:"began"`
	Sent  int       `json:"sent"`
	Held  *Held     `json:"held,omitempty"`
}

// NewLimiter limits sink.
func NewLimiter(sink Digester, o LimitOptions) *Limiter {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	l := &Limiter{sink: sink, opt: o}
	_ = l.Restore(nil) // an empty state can be read
	return l
}

// Name is the sink's name.
func (l *Limiter) Name() string { return l.sink.Name() }

// Restore implements [Keeper].
func (l *Limiter) Restore(state []byte) (err error) {
	l.state = limiterState{}
	if len(state) > 0 {
		if err = json.Unmarshal(state, &l.state); err != nil {
			l.state = limiterState{}
		}
	}
	if l.state.Buckets == nil {
		l.state.Buckets = map[string]*bucket{}
	}
	return err
}

// State implements [Keeper].
func (l *Limiter) State() ([]byte, error) {
	if len(l.state.Buckets) == 0 && len(l.state.IDs) == 0 {
		return nil, nil
	}
	return json.Marshal(&l.state)
}

// Due implements [Keeper]: when the first pattern that holds something back may speak
// again.
func (l *Limiter) Due() time.Time {
	var due time.Time
	for _, b := range l.state.Buckets {
		if end := b.Began.Add(l.opt.Every); b.Held != nil && (due.IsZero() || end.Before(due)) {
			due = end
		}
	}
	return due
}

// BatchMax is how many the sink behind it takes at a time.
func (l *Limiter) BatchMax() int {
	if b, ok := l.sink.(Batcher); ok {
		return b.BatchMax()
	}
	return batchMax
}

// Deliver implements [Sink].
func (l *Limiter) Deliver(ctx context.Context, findings []Delivery) error {
	next := l.state.clone()
	now := l.opt.Now()
	next.expire(now, l.opt.Every)
	var through []Delivery
	held := 0
	for i := range findings {
		if next.admits(&findings[i], now, l.opt.PerPattern) {
			through = append(through, findings[i])
		} else {
			held++
		}
	}
	if len(through) > 0 {
		if err := l.sink.Deliver(ctx, through); err != nil {
			return err
		}
	}
	l.state = next
	l.opt.Metrics.held.WithLabelValues(l.Name()).Add(float64(held))
	return nil
}

// Flush implements [Keeper]: the digest of all patterns whose time is over.
func (l *Limiter) Flush(ctx context.Context) error {
	next := l.state.clone()
	var digest []Held
	now := l.opt.Now()
	for key, b := range next.Buckets {
		if b.Held != nil && !now.Before(b.Began.Add(l.opt.Every)) {
			if b.Held.Findings > b.Held.Withdrawn {
				held := *b.Held
				if l.opt.Pages != "" {
					held.PageURL = listURL(l.opt.Pages, &held.Pattern)
				}
				digest = append(digest, held)
			}
			delete(next.Buckets, key)
		}
	}
	slices.SortFunc(digest, func(a, b Held) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return slices.Compare([]string{a.Key}, []string{b.Key})
	})
	if len(digest) > 0 {
		if err := l.sink.Digest(ctx, digest); err != nil {
			return err
		}
	}
	l.state = next
	return nil
}

func (s *limiterState) clone() limiterState {
	c := limiterState{Buckets: make(map[string]*bucket, len(s.Buckets)), IDs: slices.Clone(s.IDs)}
	for key, b := range s.Buckets {
		copied := *b
		if b.Held != nil {
			held := *b.Held
			held.IDs = slices.Clone(held.IDs)
			copied.Held = &held
		}
		c.Buckets[key] = &copied
	}
	return c
}

// expire forgets patterns whose time is over and that hold nothing back.
func (s *limiterState) expire(now time.Time, every time.Duration) {
	for key, b := range s.Buckets {
		if b.Held == nil && !now.Before(b.Began.Add(every)) {
			delete(s.Buckets, key)
		}
	}
}

// admits says whether d goes out now; otherwise it is held back.
func (s *limiterState) admits(d *Delivery, now time.Time, most int) bool {
	f := &d.Finding
	if follows(f) && !confirmed(f) {
		at := slices.IndexFunc(s.IDs, func(x heldID) bool { return x.ID == f.ID })
		if at < 0 {
			return true // it went out, or was in a digest long ago
		}
		if b := s.Buckets[s.IDs[at].Bucket]; takenBack(f) && b != nil && b.Held != nil {
			b.Held.Withdrawn++
			s.IDs = slices.Delete(s.IDs, at, at+1)
			return false
		} else if b == nil || b.Held == nil { // the digest that named it is out
			s.IDs = slices.Delete(s.IDs, at, at+1)
			return true
		}
		return false
	}
	p := PatternOf(f)
	key := p.Key()
	b := s.Buckets[key]
	if b == nil && len(s.Buckets) >= maxPatterns {
		p = Pattern{Source: f.Source, Anomaly: otherwise, Names: []string{}}
		key = p.Key()
		b = s.Buckets[key]
	}
	if b == nil {
		b = &bucket{Began: now}
		s.Buckets[key] = b
	}
	if b.Sent < most {
		b.Sent++
		return true
	}
	if b.Held == nil {
		b.Held = &Held{Pattern: p, Key: key, Title: f.Title, Since: now}
	}
	b.Held.Findings++
	b.Held.Until = now
	if len(b.Held.IDs) < maxExamples {
		b.Held.IDs = append(b.Held.IDs, f.ID)
	}
	s.IDs = append(s.IDs, heldID{f.ID, key})
	s.IDs = s.IDs[max(0, len(s.IDs)-maxHeldIDs):]
	return false
}
