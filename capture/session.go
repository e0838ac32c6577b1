package capture

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Session is one single-threaded client: a worker, a request, a user's visit. Its
// transactions follow one another, and the monitor checks that each sees what the
// session did and saw before. It is never the pooled connection.
//
// A transaction that begins while another one of the session runs is recorded without a
// session. One client does not do two things at once.
type Session struct {
	owner *Recorder
	name  string
	seq   atomic.Int64 // of the last transaction that ended
	busy  atomic.Bool  // a transaction of it runs
}

// Session makes a session. Each call makes another one, with the same name too: the
// records name it with something behind that is unique over processes and restarts.
func (r *Recorder) Session(name string) *Session {
	if r == nil {
		return nil
	}
	return &Session{owner: r, name: fmt.Sprintf("%s/%s.%d", validText(name), r.instance, r.sessions.Add(1))}
}

// Name is the name in the records, "" for nil.
func (s *Session) Name() string {
	if s == nil {
		return ""
	}
	return s.name
}

// sessionKey is the context's key for the session of one recorder.
type sessionKey struct{ owner *Recorder }

// WithSession gives ctx the session, from which [Recorder.SessionFrom] takes it. A
// context holds one session of each recorder.
func WithSession(ctx context.Context, s *Session) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, sessionKey{s.owner}, s)
}

// SessionFrom is the session of r that ctx was given, or nil.
func (r *Recorder) SessionFrom(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{r}).(*Session)
	return s
}

// enter takes the session for a transaction; false: it is another recorder's, or one
// of its transactions runs.
func (s *Session) enter(r *Recorder) bool {
	return s != nil && s.owner == r && s.busy.CompareAndSwap(false, true)
}
