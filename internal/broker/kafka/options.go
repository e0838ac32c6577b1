// Package kafka says how to reach an Apache Kafka cluster, over TLS and SASL where asked. It
// tells plainly why the cluster cannot be reached. kafka-go answers "topic not found" to a
// wrong password, an unknown certificate and a dead broker alike.
package kafka

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultPort is the port for a broker without one.
	DefaultPort = "9092"
	// DefaultDialTimeout bounds connect, TLS handshake and version exchange. A
	// SCRAM login took 0.4 to 1.1 s on a loaded two-core machine.
	DefaultDialTimeout = 3 * time.Second
	// DefaultMetadataTTL bounds how long a moved leader or a new partition stays
	// unseen while nothing fails; kafka-go refreshes at random within it.
	DefaultMetadataTTL = 2 * time.Second
)

// SASL mechanisms that Options.Mechanism may name.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// Options say how to reach a cluster.
type Options struct {
	Brokers []string // host or host:port; any one that answers is enough
	Topics  []string // metadata is asked for these only; empty: for all

	TLS      bool   // speak TLS; implied by any of the files below
	CAFile   string // PEM; empty: the system's roots
	CertFile string // PEM client certificate, together with KeyFile
	KeyFile  string

	Mechanism    string // Plain, ScramSHA256, ScramSHA512; empty: no login
	User         string
	Password     Secret
	PasswordFile string // its first line is the password; instead of Password

	DialTimeout time.Duration // 0: DefaultDialTimeout
	MetadataTTL time.Duration // 0: DefaultMetadataTTL
}

// Validate lists everything that is wrong with o. It opens no file.
func (o Options) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("kafka: "+format, args...)) }
	if len(o.Brokers) == 0 {
		fault("no broker is named")
	}
	for _, b := range o.Brokers {
		if _, err := address(b); err != nil {
			fault("%w", err)
		}
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		fault("a client certificate needs both its file and its key file")
	}
	if o.Mechanism != "" && !known(o.Mechanism) {
		fault("SASL mechanism %q is not one of %s, %s, %s", o.Mechanism, Plain, ScramSHA256, ScramSHA512)
	}
	if o.Mechanism == "" && (o.User != "" || o.Password != "" || o.PasswordFile != "") {
		fault("a user or password is given, but no SASL mechanism")
	}
	if o.Mechanism != "" && o.User == "" {
		fault("SASL mechanism %s needs a user", o.Mechanism)
	}
	if o.Mechanism != "" && (o.Password == "") == (o.PasswordFile == "") {
		fault("SASL mechanism %s needs either a password or a password file", o.Mechanism)
	}
	if o.DialTimeout < 0 || o.MetadataTTL < 0 {
		fault("a timeout is negative")
	}
	return errors.Join(faults...)
}

func known(mechanism string) bool {
	return mechanism == Plain || mechanism == ScramSHA256 || mechanism == ScramSHA512
}

func (o Options) secure() bool {
	return o.TLS || o.CAFile != "" || o.CertFile != "" || o.KeyFile != ""
}

// address is b with its port.
func address(b string) (string, error) {
	host, port, err := net.SplitHostPort(b)
	if err != nil {
		bare := strings.Trim(b, "[]")
		if bare == "" || strings.ContainsAny(bare, " ,/") || strings.Count(bare, ":") == 1 {
			return "", fmt.Errorf("broker %q is not host:port", b)
		}
		return net.JoinHostPort(bare, DefaultPort), nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" || strings.ContainsAny(host, " ,/") {
		return "", fmt.Errorf("broker %q is not host:port", b)
	}
	return b, nil
}
