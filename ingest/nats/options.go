// Package nats reads a JetStream stream, in order, from any sequence on.
//
// The server keeps no position for the reader: each connection makes an ephemeral consumer
// without acknowledgements, placed by sequence. Such a consumer passes over three things in
// silence, and they are made visible here. They are messages removed before they were read, a
// stream deleted and created again under the same name, and a stream that lost its end.
package nats

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// DefaultMaxMessages and DefaultMaxBytes bound what the server sends ahead
	// of the reader, and so the memory that a blocked reader holds.
	DefaultMaxMessages = 8192
	DefaultMaxBytes    = 16 << 20

	// A chunk is sent on when it holds this much or the whole read-ahead, or when
	// nothing more is there.
	chunkMessages = 4096
	chunkBytes    = 1 << 20

	// heartbeat is how often the server says that it has nothing; it is also the
	// pace of idle CaughtUp chunks.
	heartbeat = 500 * time.Millisecond
	// Where no message has come for calmAfter, heartbeats are half as many: each wakes both up.
	calmHeartbeat = 2 * heartbeat
	calmAfter     = time.Minute
	// A silent consumer, without a heartbeat too, is made again. The wait doubles from one
	// silence to the next. A search for the first message of a rare subject in a large stream
	// keeps a server silent for long.
	silenceFirst = 3 * time.Second
	silenceMost  = 60 * time.Second
	// requestLife bounds one pull request on the server.
	requestLife = 30 * time.Second
	// gather is how long a started chunk waits when the server has announced
	// that more is under way.
	gather = 2 * time.Millisecond
	// paceMost is the time between two requests at the end of the stream at low rates. It is a part
	// of the 100 ms within which a finding is meant to be delivered. At higher rates it is the time in
	// which some paceMessages come, and at least paceLeast.
	paceMost     = 30 * time.Millisecond
	paceLeast    = 5 * time.Millisecond
	paceMessages = 256
	// trimCheck is the pace of looking for a trim that has passed a filtered
	// reader.
	trimCheck = time.Second
	// apiWait bounds one request to the JetStream API.
	apiWait = 5 * time.Second
	// inactive is how long the server keeps the consumer of a vanished reader.
	inactive = time.Minute

	retryFirst = 50 * time.Millisecond
	retryMost  = 2 * time.Second
)

// Options name what to read.
type Options struct {
	// Conn stays with the caller, who closes it after Run has returned.
	Conn   *nats.Conn
	Stream string
	// Subjects, with wildcards, select messages; empty: all. More than one needs
	// nats-server 2.10. With a selection, a missing sequence number may belong to
	// another subject. A removed message is then a gap if it may have been selected, and
	// the gap's reason has the word "may".
	Subjects []string
	// Since, unless zero, is where reading begins without a cursor: at the first message that
	// was stored then or later. A gap says that older ones were removed, and some of them may
	// belong there.
	Since time.Time
	// MaxMessages and MaxBytes bound the read-ahead; 0: the defaults.
	MaxMessages int
	MaxBytes    int
	Logger      *slog.Logger // nil: slog.Default()
}

func (o *Options) setDefaults() {
	if o.MaxMessages == 0 {
		o.MaxMessages = DefaultMaxMessages
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

func (o *Options) validate() error {
	var faults []error
	if o.Conn == nil {
		faults = append(faults, errors.New("nats source: no connection"))
	}
	if o.Stream == "" {
		faults = append(faults, errors.New("nats source: no stream"))
	}
	if slices.Contains(o.Subjects, "") {
		faults = append(faults, errors.New("nats source: an empty subject"))
	}
	if o.MaxMessages < 0 || o.MaxBytes < 0 {
		faults = append(faults, fmt.Errorf("nats source: negative read-ahead (%d messages, %d bytes)", o.MaxMessages, o.MaxBytes))
	}
	return errors.Join(faults...)
}

// partition is the name under which positions of the stream are kept.
func (o *Options) partition() string { return "nats:" + o.Stream }
