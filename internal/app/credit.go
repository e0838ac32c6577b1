package app

import "sync"

// credit bounds the bytes that several hold at one time.
type credit struct {
	most int64

	mu    sync.Mutex
	held  int64
	given chan struct{} // closed when some come back; nil while nobody waits
}

// take waits for n bytes. More than there are at all are given while nobody holds any. It waits no longer when
// done closes.
func (c *credit) take(n int64, done <-chan struct{}) {
	if c == nil || c.most == 0 {
		return
	}
	for {
		c.mu.Lock()
		if c.held == 0 || c.held+n <= c.most {
			c.held += n
			c.mu.Unlock()
			return
		}
		if c.given == nil {
			c.given = make(chan struct{})
		}
		given := c.given
		c.mu.Unlock()
		select {
		case <-given:
		case <-done:
			return // what is read now is passed over
		}
	}
}

func (c *credit) give(n int64) {
	if c == nil || c.most == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = max(0, c.held-n)
	if c.given != nil {
		close(c.given)
		c.given = nil
	}
}

// bytes are held now.
func (c *credit) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}
