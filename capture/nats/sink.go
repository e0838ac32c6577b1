// Package nats publishes the records of package capture to a NATS JetStream stream.
package nats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/capture/internal/message"
)

// header is the number of bytes that the server counts besides the records: the header with the
// message's id.
const header = 1 << 10

// Sink publishes batches of records, several a message. Each message has a header
// Nats-Msg-Id, made of its content, by which the stream drops what it has.
type Sink struct {
	conn    *nats.Conn
	stream  jetstream.JetStream
	subject string
}

var _ capture.Sink = (*Sink)(nil)

// New makes a sink that publishes to the subject, which a stream must store; until
// one does, the recorder goes on trying. The connection brings its own TLS and
// credentials, and stays the caller's to close, after the recorder. Let it reconnect
// for ever (nats.MaxReconnects(-1)).
func New(conn *nats.Conn, subject string) (*Sink, error) {
	stream, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("capture: nats: %w", err)
	}
	if subject == "" {
		return nil, errors.New("capture: nats: no subject is named")
	}
	return &Sink{conn, stream, subject}, nil
}

// Write publishes lines and waits until the stream has stored them.
func (s *Sink) Write(ctx context.Context, lines [][]byte) error {
	limit := int(s.conn.MaxPayload()) - header
	if limit <= 0 {
		return errors.New("capture: nats: not connected yet")
	}
	return message.Deliver(lines, limit, func(m []byte) error { return s.publish(ctx, m) }, tooLarge)
}

func (s *Sink) publish(ctx context.Context, text []byte) error {
	m := nats.NewMsg(s.subject)
	m.Data = text
	hash := sha256.Sum256(text)
	m.Header.Set(jetstream.MsgIDHeader, hex.EncodeToString(hash[:16]))
	if _, err := s.stream.PublishMsg(ctx, m); err != nil {
		return fmt.Errorf("capture: nats: subject %s: %w", s.subject, err)
	}
	return nil
}

// streamTooLarge is the server's code for a message beyond the stream's own bound.
const streamTooLarge = 10054

func tooLarge(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, nats.ErrMaxPayload) || errors.As(err, &api) && api.ErrorCode == streamTooLarge
}

// Close does nothing: all that was written is stored.
func (s *Sink) Close() error { return nil }
