package app

import (
	"net/http"
	"sync"
)

// gate lets readers of the store in until it is closed. Closing waits for those
// inside: the store must not be closed under a scan.
type gate struct {
	mu     sync.RWMutex
	closed bool
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// around keeps the gate open for the time of a request.
func (g *gate) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.RLock()
		defer g.mu.RUnlock()
		if g.closed {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}
