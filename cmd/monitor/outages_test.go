package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/probe"
)

// An outage is two lines, whatever the sessions notice of it and however late.
func TestOutages(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var told []string
	var now time.Time
	x := &outages{
		ctx: ctx, now: func() time.Time { return now }, timeout: 10 * time.Second, quiet: time.Second, running: map[string]*outage{},
		say: func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) },
	}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connect: connection refused")}
	for _, e := range []struct {
		ms       int64
		endpoint string
		phase    probe.Phase
		err      error
	}{
		{1000, "", probe.Commit, nil},
		{2000, "", probe.Operations, fmt.Errorf("a session: %w", refused)},
		{2001, "", probe.Operations, nil}, // another one was just through
		{2002, "", probe.Begin, driver.ErrBadConn},
		{3500, "", probe.Connect, refused},
		{5000, "", probe.Connect, nil}, // takes connections, and nothing else
		{5500, "", probe.Begin, nil},   // quiet since 3.5 s
		{5600, "", probe.Commit, nil},
		{6000, "b:5432", probe.Commit, context.DeadlineExceeded},
		{6500, "b:5432", probe.Begin, nil},
		{7000, "a:5432", probe.Commit, nil},
		{8000, "a:5432", probe.Begin, driver.ErrBadConn},
	} {
		now = time.Time{}.Add(time.Duration(e.ms) * time.Millisecond)
		x.Phase(e.endpoint, e.phase, 0, e.err)
	}
	end()
	x.Phase("c:5432", probe.Connect, 0, context.Canceled)
	x.end()
	want := []string{
		"2s: the database does not answer: dial tcp: connect: connection refused",
		"6s: the database answers again, after 3.5s",
		"6s: the endpoint b:5432 does not answer: nothing came within 10s",
		"8s: the endpoint a:5432 does not answer: the connection is gone",
		"7s: the endpoint b:5432 answers again, after 500ms",
	}
	if got := strings.Join(told, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
