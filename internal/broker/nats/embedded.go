package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// maxPayload lets a record of 16 MiB through with its headers.
	maxPayload = 16<<20 + 64<<10
	// syncInterval bounds the loss of a power cut. The server writes each message to the page
	// cache at once, which survives a kill of the process.
	syncInterval = time.Second
)

// EmbeddedOptions describe a server inside the process and its one stream.
type EmbeddedOptions struct {
	// Dir holds the stream's files. It belongs to one server at a time.
	Dir string
	// Host defaults to 127.0.0.1. There is no authentication.
	Host string
	// Port 0 is 4222, -1 any free one.
	Port int

	Stream   string
	Subjects []string
	MaxBytes int64         // the oldest messages go beyond it; 0: no limit
	MaxAge   time.Duration // 0: no limit

	Logger *slog.Logger // gets warnings and errors of the server; nil: none
}

// Embedded is a running server.
type Embedded struct {
	server *server.Server
}

// StartEmbedded starts a server and makes sure of its stream. It waits until
// both are ready, which after a large backlog takes seconds: ctx bounds it.
func StartEmbedded(ctx context.Context, o EmbeddedOptions) (*Embedded, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded nats: %w", err)
	}
	host := o.Host
	if host == "" {
		host = "127.0.0.1"
	}
	s, err := server.NewServer(&server.Options{
		ServerName:   "isowatch",
		Host:         host,
		Port:         o.Port,
		JetStream:    true,
		StoreDir:     o.Dir,
		NoSigs:       true,
		MaxPayload:   maxPayload,
		SyncInterval: syncInterval,
	})
	if err != nil {
		return nil, fmt.Errorf("embedded nats: %w", err)
	}
	log := newServerLog(o.Logger)
	s.SetLogger(log, false, false)
	s.Start()
	e := &Embedded{server: s}
	if err := e.ready(ctx, log, net.JoinHostPort(host, strconv.Itoa(o.Port))); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if err := e.ensureStream(ctx, &o); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (o *EmbeddedOptions) validate() error {
	var faults []error
	if o.Dir == "" {
		faults = append(faults, errors.New("embedded nats: no directory"))
	}
	if o.Port < -1 || o.Port > 65535 {
		faults = append(faults, fmt.Errorf("embedded nats: port %d is not in -1..65535", o.Port))
	}
	if o.Stream == "" || len(o.Subjects) == 0 {
		faults = append(faults, errors.New("embedded nats: a stream needs a name and subjects"))
	}
	if o.MaxBytes < 0 || o.MaxAge < 0 {
		faults = append(faults, errors.New("embedded nats: negative limit of the stream"))
	}
	return errors.Join(faults...)
}

// ready waits for connections to be taken.
func (e *Embedded) ready(ctx context.Context, log *serverLog, address string) error {
	failed := func(reason string) error {
		if strings.Contains(reason, syscall.EADDRINUSE.Error()) {
			return fmt.Errorf("embedded nats: %s: %w", address, syscall.EADDRINUSE) // the server names the address twice
		}
		return fmt.Errorf("embedded nats: %s", reason)
	}
	for !e.server.ReadyForConnections(50 * time.Millisecond) {
		if reason := log.fatal(); reason != "" {
			return failed(reason)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("embedded nats: not ready: %w", err)
		}
	}
	if reason := log.fatal(); reason != "" {
		return failed(reason)
	}
	return nil
}

// ensureStream creates the stream, or gives an older one these subjects and
// limits; its messages stay.
func (e *Embedded) ensureStream(ctx context.Context, o *EmbeddedOptions) error {
	nc, err := nats.Connect("", nats.InProcessServer(e.server))
	if err != nil {
		return fmt.Errorf("embedded nats: %w", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("embedded nats: %w", err)
	}
	maxBytes := o.MaxBytes
	if maxBytes == 0 {
		maxBytes = -1
	}
	_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:      o.Stream,
		Subjects:  o.Subjects,
		Retention: jetstream.LimitsPolicy,
		Discard:   jetstream.DiscardOld,
		Storage:   jetstream.FileStorage,
		MaxBytes:  maxBytes,
		MaxAge:    o.MaxAge,
	})
	if err != nil {
		return fmt.Errorf("embedded nats: stream %s: %w", o.Stream, err)
	}
	return nil
}

// URL is where clients connect.
func (e *Embedded) URL() string { return e.server.ClientURL() }

// Close stops the server and waits until its files are written. It may be
// called again.
func (e *Embedded) Close() error {
	e.server.Shutdown()
	e.server.WaitForShutdown()
	return nil
}
