//go:build integration

package live

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// alerted is a finding as a receiver reads it.
type alerted struct {
	ID          string
	Source      string
	Kind        string
	State       string
	Certain     bool
	Anomaly     string
	Refutes     []string
	Txns        []string
	Explanation string
	Revision    int
	RestsOn     []string  `json:"rests_on"`
	FoundAt     time.Time `json:"found_at"`
	DetectedAt  time.Time `json:"detected_at"`

	at time.Time // when it came
}

// webhook takes all posts.
type webhook struct {
	url string

	mu     sync.Mutex
	took   []alerted
	faults []string
}

func newWebhook(t *testing.T) *webhook {
	t.Helper()
	h := &webhook{}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// ServeHTTP implements [http.Handler].
func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Findings []alerted }
	err := json.NewDecoder(r.Body).Decode(&body)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || len(body.Findings) == 0 {
		h.faults = append(h.faults, "a post without findings")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, f := range body.Findings {
		f.at = time.Now()
		h.took = append(h.took, f)
	}
}

// deliveries is all that came so far.
func (h *webhook) deliveries() (took []alerted, faults []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]alerted(nil), h.took...), append([]string(nil), h.faults...)
}
