package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
)

const (
	// natsAhead messages wait for their acknowledgement at most; beyond, who writes waits.
	natsAhead = 1024
	// natsStall is how long it waits for one before it gives up.
	natsStall = 30 * time.Second
)

// stream is a JetStream stream.
type stream struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	subject string

	mu    sync.Mutex
	fault error // the first of a message
}

// NATS writes to a stream that is there, on the first of the subjects. Without any it is the first one of the stream. In it,
// * and > become "probe". It returns when the stream has answered, or ctx ends.
func NATS(ctx context.Context, o brokernats.Options, name string, subjects ...string) (Writer, error) {
	conn, err := brokernats.Connect(o)
	if err != nil {
		return nil, err
	}
	w := &stream{conn: conn}
	if err := w.open(ctx, name, subjects); err != nil {
		if last := conn.LastError(); last != nil && ctx.Err() != nil {
			err = last
		}
		conn.Close()
		return nil, fmt.Errorf("nats: stream %s: %w", name, err)
	}
	return w, nil
}

func (w *stream) open(ctx context.Context, name string, subjects []string) (err error) {
	w.js, err = jetstream.New(w.conn, jetstream.WithPublishAsyncMaxPending(natsAhead), jetstream.WithPublishAsyncErrHandler(
		func(_ jetstream.JetStream, m *nats.Msg, err error) {
			w.fail(fmt.Errorf("nats: publish to %s: %w", m.Subject, err))
		}))
	if err != nil {
		return err
	}
	if err := connected(ctx, w.conn); err != nil {
		return err
	}
	s, err := w.js.Stream(ctx, name)
	if err != nil {
		return err
	}
	if len(subjects) == 0 {
		subjects = s.CachedInfo().Config.Subjects
	}
	if len(subjects) == 0 {
		return errors.New("it takes no subject")
	}
	w.subject = plain(subjects[0])
	return nil
}

// connected returns when a server has answered: until then requests fail at once.
func connected(ctx context.Context, conn *nats.Conn) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !conn.IsConnected() {
		if err := conn.LastError(); errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no server answers at %s: %w", brokernats.Addresses(conn), cmp.Or(conn.LastError(), ctx.Err()))
		case <-ticker.C:
		}
	}
	return nil
}

// plain is a subject that a stream with this pattern takes.
func plain(pattern string) string {
	tokens := strings.Split(pattern, ".")
	for i, t := range tokens {
		if t == "*" || t == ">" {
			tokens[i] = "probe"
		}
	}
	return strings.Join(tokens, ".")
}

func (w *stream) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault == nil {
		w.fault = err
	}
}

func (w *stream) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fault
}

// Write publishes without waiting for the answer. All records share a subject, so that they
// stay in order whatever their key is.
func (w *stream) Write(_ context.Context, _, id string, record []byte) error {
	if err := w.failed(); err != nil {
		return err
	}
	m := nats.NewMsg(w.subject)
	m.Header.Set(jetstream.MsgIDHeader, id)
	m.Data = append([]byte(nil), record...)
	if _, err := w.js.PublishMsgAsync(m, jetstream.WithStallWait(natsStall)); err != nil {
		return fmt.Errorf("nats: publish to %s: %w", w.subject, err)
	}
	return nil
}

func (w *stream) Close(ctx context.Context) error {
	defer w.conn.Close()
	select {
	case <-w.js.PublishAsyncComplete():
		return w.failed()
	case <-ctx.Done():
		return errors.Join(w.failed(), fmt.Errorf("nats: %d records are not acknowledged", w.js.PublishAsyncPending()))
	}
}
