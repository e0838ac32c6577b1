// Package nats publishes findings to a NATS subject.
package nats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/alert"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
)

// Options say where findings are published.
type Options struct {
	Name      string // the sink's
	Broker    brokernats.Options
	Subject   string
	JetStream bool // a finding is delivered when a stream has stored it; otherwise when the server has taken it
}

// Sink publishes one message a finding: its JSON. The header Nats-Msg-Id is made of id,
// revision and state, by which a stream drops what it has.
type Sink struct {
	name, subject string
	conn          *nats.Conn
	stream        jetstream.JetStream // nil: none is waited for
}

// New connects. It gives no error for a server that cannot be reached yet.
func New(o Options) (*Sink, error) {
	conn, err := brokernats.Connect(o.Broker)
	if err != nil {
		return nil, err
	}
	s := &Sink{name: o.Name, subject: o.Subject, conn: conn}
	if o.JetStream {
		if s.stream, err = jetstream.New(conn); err != nil {
			conn.Close()
			return nil, fmt.Errorf("nats: %w", err)
		}
	}
	return s, nil
}

// Name is the name of the options.
func (s *Sink) Name() string { return s.name }

// Close ends the connection.
func (s *Sink) Close() error { s.conn.Close(); return nil }

// Deliver implements [alert.Sink].
func (s *Sink) Deliver(ctx context.Context, findings []alert.Delivery) error {
	var messages []*nats.Msg
	for i := range findings {
		f := &findings[i].Finding
		messages = append(messages, s.message("finding", f.ID+"/"+strconv.Itoa(f.Revision)+"/"+string(f.State), findings[i].JSON))
	}
	return s.publish(ctx, messages)
}

// Digest implements [alert.Digester].
func (s *Sink) Digest(ctx context.Context, held []alert.Held) error {
	text, err := json.Marshal(map[string]any{"digest": held})
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	hash := sha256.Sum256(text)
	return s.publish(ctx, []*nats.Msg{s.message("digest", hex.EncodeToString(hash[:16]), text)})
}

func (s *Sink) message(kind, id string, text []byte) *nats.Msg {
	m := nats.NewMsg(s.subject)
	m.Header.Set("Nats-Msg-Id", id)
	m.Header.Set("Content-Type", "application/json")
	m.Header.Set("Isowatch-Kind", kind)
	m.Data = text
	return m
}

var errAway = errors.New("nats: not connected")

func (s *Sink) publish(ctx context.Context, messages []*nats.Msg) error {
	if !s.conn.IsConnected() { // it would keep them in memory, and send them again later
		if err := s.conn.LastError(); err != nil {
			return fmt.Errorf("%w: %w", errAway, err)
		}
		return errAway
	}
	for _, m := range messages {
		for name, value := range alert.Headers(ctx) {
			m.Header.Set(name, value)
		}
		if int64(len(m.Data))+1024 > s.conn.MaxPayload() {
			return fmt.Errorf("%w: nats: a message of %d bytes, the server takes %d", alert.ErrRejected, len(m.Data), s.conn.MaxPayload())
		}
	}
	if s.stream != nil {
		return s.store(ctx, messages)
	}
	for _, m := range messages {
		if err := s.conn.PublishMsg(m); err != nil {
			return fmt.Errorf("nats: publish to %s: %w", s.subject, err)
		}
	}
	if err := s.conn.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("nats: publish to %s: %w", s.subject, err)
	}
	return nil
}

// store returns when a stream has all of them.
func (s *Sink) store(ctx context.Context, messages []*nats.Msg) error {
	for _, m := range messages {
		if _, err := s.stream.PublishMsg(ctx, m); err != nil {
			return fmt.Errorf("nats: publish to %s: %w", s.subject, err)
		}
	}
	return nil
}
