//go:build integration

package main

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// delivered holds what tells two deliveries of one finding apart.
type delivered struct {
	id       string
	revision int
	state    finding.State
}

// receiver is a webhook that refuses one post in ten, and takes its time with the
// answer to the others, so that some kills come between the two.
type receiver struct {
	url string

	mu     sync.Mutex
	rng    *rand.Rand
	counts map[delivered]int
	faults []string
}

func newReceiver(t *testing.T, rng *rand.Rand) *receiver {
	t.Helper()
	r := &receiver{rng: rng, counts: map[delivered]int{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// ServeHTTP implements [http.Handler].
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var body struct{ Findings []finding.Finding }
	err := json.NewDecoder(request.Body).Decode(&body)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case request.Context().Err() != nil:
		return // cut off by a kill
	case err != nil || len(body.Findings) == 0:
		r.faults = append(r.faults, "a post without findings")
		w.WriteHeader(http.StatusBadRequest)
		return
	case r.rng.IntN(10) == 0:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for _, f := range body.Findings {
		r.counts[delivered{f.ID, f.Revision, f.State}]++
	}
	time.Sleep(time.Duration(r.rng.IntN(int(100 * time.Millisecond))))
}

// got returns what was taken, and how often.
func (r *receiver) got() (counts map[delivered]int, faults []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts = map[delivered]int{}
	for k, n := range r.counts {
		counts[k] = n
	}
	return counts, r.faults
}
