package app

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestCleanupsRunBackwards(t *testing.T) {
	var order []string
	var c cleanups
	bad := errors.New("no")
	for _, name := range []string{"store", "engine", "http"} {
		c.push(name, func(context.Context) error {
			order = append(order, name)
			if name == "engine" {
				return bad
			}
			return nil
		})
	}
	err := c.run(t.Context())
	if got := strings.Join(order, " "); got != "http engine store" {
		t.Errorf("order %q", got)
	}
	if !errors.Is(err, bad) || err.Error() != "stop engine: no" {
		t.Errorf("error %v", err)
	}
	if err := c.run(t.Context()); err != nil || len(order) != 3 {
		t.Errorf("a second run did something: %v, %v", err, order)
	}
}

// What hangs keeps what it stands on: the store is not closed under a commit.
func TestHangingCleanupLeavesTheRest(t *testing.T) {
	var c cleanups
	closed := false
	c.push("store", func(context.Context) error { closed = true; return nil })
	release := make(chan struct{})
	defer close(release)
	c.push("engine", func(context.Context) error { <-release; return nil })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := c.run(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "stop engine") {
		t.Errorf("error %v", err)
	}
	if closed {
		t.Error("the store was closed under the engine")
	}
}

func TestGateWaitsForThoseInside(t *testing.T) {
	var g gate
	inside, leave := make(chan struct{}), make(chan struct{})
	handler := g.around(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(inside)
		<-leave
	}))
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	go handler.ServeHTTP(httptest.NewRecorder(), request)
	<-inside
	closed := make(chan struct{})
	go func() { g.close(); close(closed) }()
	select {
	case <-closed:
		t.Fatal("closed with a reader inside")
	case <-time.After(20 * time.Millisecond):
	}
	close(leave)
	<-closed
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request) // would close inside twice if it were let in
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("let in behind the close: %d", answer.Code)
	}
}
