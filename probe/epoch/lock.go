package epoch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// look is between two looks at the lock's connection, and between two attempts to take
	// the lock again.
	look = time.Second
	// answer is how long the database may take to answer such a look.
	answer = 5 * time.Second
	// patience is how long a probe that has ended may still hold the lock. The database notices
	// the end of a connection a while later.
	patience = 2 * time.Second
	// again is between two attempts of that time.
	again = 50 * time.Millisecond
)

// Lock is an advisory lock on a connection of its own. The database gives it back when the
// connection ends, so no probe that has died keeps others out. When the connection is lost
// it is taken again, unless another probe was faster.
type Lock struct {
	db   *sql.DB
	take func(ctx context.Context, conn *sql.Conn) (taken bool, err error)
	stop context.CancelFunc
	done chan struct{} // closed when nobody looks any more

	mu   sync.Mutex
	lost error
}

// errTaken: another probe has the lock.
var errTaken = errors.New("another probe is running")

// Hold takes the lock, on a connection of db that has prepared what else had to be. take
// asks for the lock without waiting; Hold asks again for two seconds. where names what is locked, for the error that
// somebody else has it. The caller closes the lock, and db then.
func Hold(ctx context.Context, db *sql.DB, where string, take func(context.Context, *sql.Conn) (taken bool, err error)) (*Lock, error) {
	l := &Lock{db: db, take: take, done: make(chan struct{})}
	conn, err := l.attempt(ctx)
	for end := time.Now().Add(patience); errors.Is(err, errTaken) && time.Now().Before(end) && ctx.Err() == nil; {
		time.Sleep(again)
		conn, err = l.attempt(ctx)
	}
	if errors.Is(err, errTaken) {
		err = fmt.Errorf("%w on %s", err, where)
	}
	if err != nil {
		return nil, err
	}
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(l.done)
		l.keep(ctx, conn)
	}()
	return l, nil
}

// attempt opens a connection that has the lock.
func (l *Lock) attempt(ctx context.Context) (*sql.Conn, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	taken, err := l.take(ctx, conn)
	if err == nil && !taken {
		err = errTaken
	}
	if err != nil {
		conn.Close() // what matters is why it was not taken
		return nil, err
	}
	return conn, nil
}

// keep looks at the connection until ctx ends or another probe has the lock.
func (l *Lock) keep(ctx context.Context, conn *sql.Conn) {
	for {
		select {
		case <-ctx.Done():
			if conn != nil {
				conn.Close()
			}
			return
		case <-time.After(look):
		}
		if conn = l.renew(ctx, conn); l.Err() != nil {
			return
		}
	}
}

// renew is the connection if it still answers, or one that has taken the lock again; nil
// when the database is not there.
func (l *Lock) renew(ctx context.Context, conn *sql.Conn) *sql.Conn {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	if conn != nil {
		if conn.PingContext(ctx) == nil {
			return conn
		}
		conn.Close()
	}
	conn, err := l.attempt(ctx)
	if errors.Is(err, errTaken) {
		l.mu.Lock()
		l.lost = errors.New("the connection that held the lock was lost, and another probe has it now, or the server has not noticed the loss")
		l.mu.Unlock()
	}
	return conn
}

// Err says that another probe has the lock now, and has dropped the tables of this one; until
// then it is nil.
func (l *Lock) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Close gives the lock back.
func (l *Lock) Close() {
	l.stop()
	<-l.done
}
