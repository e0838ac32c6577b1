package config

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Defaults of [Service].
const (
	DefaultData     = "./isowatch-data"
	DefaultHTTP     = "127.0.0.1:8080"
	DefaultNATSPort = 4222
	DefaultStream   = "ISOWATCH"
	DefaultSubjects = "isowatch.events.>"
	// DefaultMaxAge bounds what the embedded server keeps: a replay reaches as far
	// back.
	DefaultMaxAge = 24 * time.Hour
	// Off as an address: no web server.
	Off = "off"
)

// Values of [Service.Durability].
const (
	Async = "async" // a killed process; a power cut may lose what the latest second committed
	Fsync = "fsync" // a power cut: every commit is synced before the next
)

// Service is everything that the monitor does beside checking. Inputs that are
// nil are not used; without any of them there is an embedded NATS server.
type Service struct {
	Watch Watch

	Data string // folder of the store, the embedded server's stream and the socket
	// Durability is what a committed step survives: Async or Fsync.
	Durability string
	HTTP       string // HOST:PORT, port 0: any; Off: none
	// HTTPElsewhere takes any free port when that of HTTP is in use.
	HTTPElsewhere bool
	Sources       []string // expected sources: their metrics exist from the start

	Embedded Embedded
	NATS     *NATS
	Kafka    *Kafka
	Tail     []string // patterns of files to follow
	Stdin    bool     // alone: the service ends with it

	Webhook *Webhook
}

// Embedded is the NATS server inside the process.
type Embedded struct {
	Port   int // 0 or -1: any free one
	MaxAge time.Duration
}

// NATS is a stream of a NATS system. Files hold secrets.
type NATS struct {
	URLs                []string
	Stream              string
	Subjects            []string // empty: all
	CredsFile, NKeyFile string
	TokenFile           string
	User, PasswordFile  string
	CAFile              string
	CertFile, KeyFile   string
}

// Kafka is topics of a cluster.
type Kafka struct {
	Brokers, Topics   []string
	TLS               bool
	CAFile            string
	CertFile, KeyFile string
	Mechanism, User   string
	PasswordFile      string
	Password          string // from the environment
}

// Webhook is where alerts are posted.
type Webhook struct {
	URL        string
	SecretFile string // its content signs each request; "": unsigned
}

// DefaultService is `monitor run` without flags.
func DefaultService() Service {
	w := DefaultWatch(LiveContract())
	w.KeyCap = DefaultKeyCap
	return Service{
		Watch: w, Data: DefaultData, Durability: Async, HTTP: DefaultHTTP,
		Sources:  []string{"default"},
		Embedded: Embedded{Port: DefaultNATSPort, MaxAge: DefaultMaxAge},
	}
}

// UsesEmbedded says whether no input is named.
func (s *Service) UsesEmbedded() bool {
	return s.NATS == nil && s.Kafka == nil && len(s.Tail) == 0 && !s.Stdin
}

// Validate lists every fault that can be seen without opening anything.
func (s *Service) Validate() error {
	faults := []error{s.Watch.Validate()}
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if s.Data == "" {
		fault("data: no folder is named")
	}
	if s.Durability != Async && s.Durability != Fsync {
		fault("durability %q: want %s or %s", s.Durability, Async, Fsync)
	}
	if err := checkAddress(s.HTTP); err != nil {
		fault("http %q: %w", s.HTTP, err)
	}
	if p := s.Embedded.Port; p < -1 || p > 65535 {
		fault("nats-port %d: not in -1 to 65535", p)
	}
	if s.Embedded.MaxAge < 0 {
		fault("nats-max-age %v: must not be negative", s.Embedded.MaxAge)
	}
	if s.Stdin && (s.NATS != nil || s.Kafka != nil || len(s.Tail) > 0) {
		fault("standard input ends, and cannot be read beside inputs that do not")
	}
	if n := s.NATS; n != nil && n.Stream == "" {
		fault("nats: no stream is named")
	}
	if k := s.Kafka; k != nil && len(k.Topics) == 0 {
		fault("kafka: no topic is named")
	}
	return errors.Join(faults...)
}

func checkAddress(address string) error {
	if address == Off {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("want HOST:PORT, or off")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("port %q is not in 0 to 65535", port)
	}
	return nil
}
