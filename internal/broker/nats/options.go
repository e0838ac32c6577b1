// Package nats connects to NATS servers, and runs one inside the process.
package nats

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"
)

// Options say how to reach a NATS system. At most one way to authenticate may
// be set beside a user in the URLs. Files are read again at each connection, so
// that renewed credentials take effect without a restart.
type Options struct {
	// URLs are servers of one system: scheme nats, tls, ws or wss, or HOST:PORT.
	URLs []string
	// Inside is the server in this process that URLs name: the connection then needs no socket.
	Inside *Embedded
	// Name is the name that the server shows for this connection.
	Name string

	CredsFile    string // user JWT and its nkey seed, as nsc writes it
	NKeyFile     string // an nkey user seed
	Token        string
	TokenFile    string
	User         string
	Password     string
	PasswordFile string // needs User

	CAFile   string // PEM, in place of the system's roots
	CertFile string // PEM, with KeyFile: the client's certificate
	KeyFile  string

	// Logger gets connections, losses and errors; nil: nothing is logged.
	Logger *slog.Logger
	// Failed gets why a server did not let us in; nil: nobody does.
	Failed func(error)
}

// Validate names every fault of o, and keeps its secrets.
func (o *Options) Validate() error {
	var faults []error
	if len(o.URLs) == 0 {
		faults = append(faults, errors.New("nats: no server URL"))
	}
	for i, u := range o.URLs {
		if err := checkURL(u); err != nil {
			faults = append(faults, fmt.Errorf("nats: server URL %d of %d: %w", i+1, len(o.URLs), err))
		}
	}
	if ways := o.authentication(); len(ways) > 1 {
		faults = append(faults, fmt.Errorf("nats: more than one way to authenticate: %s", strings.Join(ways, ", ")))
	}
	if o.User == "" && (o.Password != "" || o.PasswordFile != "") {
		faults = append(faults, errors.New("nats: a password without a user"))
	}
	if o.Password != "" && o.PasswordFile != "" {
		faults = append(faults, errors.New("nats: both a password and a password file"))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		faults = append(faults, errors.New("nats: a client certificate needs both a certificate file and a key file"))
	}
	for _, path := range []string{o.CredsFile, o.NKeyFile, o.TokenFile, o.PasswordFile} {
		if path == "" {
			continue
		}
		if _, err := os.ReadFile(path); err != nil {
			faults = append(faults, fmt.Errorf("nats: %w", err))
		}
	}
	return errors.Join(faults...)
}

// authentication names the ways to authenticate that are set.
func (o *Options) authentication() []string {
	var ways []string
	for _, w := range []struct{ name, value string }{
		{"credentials file", o.CredsFile}, {"nkey file", o.NKeyFile},
		{"token", o.Token}, {"token file", o.TokenFile}, {"user", o.User},
	} {
		if w.value != "" {
			ways = append(ways, w.name)
		}
	}
	return ways
}

// checkURL never quotes s: it may hold a password.
func checkURL(s string) error {
	if !strings.Contains(s, "://") {
		s = "nats://" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		return errors.New("not a URL")
	}
	switch u.Scheme {
	case "nats", "tls", "ws", "wss":
	default:
		return fmt.Errorf("scheme %q is not one of nats, tls, ws, wss", u.Scheme)
	}
	if u.Hostname() == "" {
		return errors.New("no host")
	}
	return nil
}

// userSeed is the line of a credentials file that signs.
var userSeed = regexp.MustCompile(`(?m)^\s*SU[A-Z2-7]+\s*$`)

// Addresses are the servers of a connection, HOST:PORT, without what else their URLs hold.
func Addresses(c *nats.Conn) string {
	var all []string
	for _, s := range c.Servers() {
		if u, err := url.Parse(s); err == nil {
			all = append(all, u.Host)
		}
	}
	return strings.Join(all, ", ")
}

// credentials are the connection options that authenticate.
func (o *Options) credentials() ([]nats.Option, error) {
	switch {
	case o.CredsFile != "":
		if text, err := os.ReadFile(o.CredsFile); err != nil || !userSeed.Match(text) {
			return nil, fmt.Errorf("nats: credentials file %s holds no user seed: it must be a file that nsc wrote", o.CredsFile)
		}
		return []nats.Option{nats.UserCredentials(o.CredsFile)}, nil
	case o.NKeyFile != "":
		opt, err := nats.NkeyOptionFromSeed(o.NKeyFile)
		if err != nil {
			return nil, fmt.Errorf("nats: nkey file %s holds no user seed", o.NKeyFile)
		}
		return []nats.Option{opt}, nil
	case o.Token != "":
		return []nats.Option{nats.Token(o.Token)}, nil
	case o.TokenFile != "":
		return []nats.Option{nats.TokenHandler(func() string { return o.secret(o.TokenFile) })}, nil
	case o.PasswordFile != "":
		return []nats.Option{nats.UserInfoHandler(func() (string, string) {
			return o.User, o.secret(o.PasswordFile)
		})}, nil
	case o.User != "":
		return []nats.Option{nats.UserInfo(o.User, o.Password)}, nil
	}
	return nil, nil
}

// secret is the text of a file without the line end that editors add. A file
// that has gone gives the empty text: the server then refuses, which is logged.
func (o *Options) secret(path string) string {
	b, err := os.ReadFile(path)
	if err != nil && o.Logger != nil {
		o.Logger.Warn("nats secret file unreadable", "err", err)
	}
	return strings.TrimRight(string(b), "\r\n")
}
