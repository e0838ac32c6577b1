package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	kafkago "github.com/segmentio/kafka-go"
)

// Causes that the errors of Probe and Explain wrap.
var (
	// ErrLogin: the broker refused the user, the password or the mechanism.
	ErrLogin = errors.New("login refused")
	// ErrTLS: the two sides do not agree on TLS or on a certificate.
	ErrTLS = errors.New("TLS failed")
	// ErrUnreachable: no broker answered. It may come back.
	ErrUnreachable = errors.New("no broker answers")
)

// Permanent tells whether err is a matter of configuration, which waiting does
// not mend.
func Permanent(err error) bool { return errors.Is(err, ErrLogin) || errors.Is(err, ErrTLS) }

// explain names the cause of err. The library's own text stays at the end: it
// holds addresses and codes, never credentials.
func (o Options) explain(err error) error {
	if err == nil || errors.Is(err, ErrLogin) || errors.Is(err, ErrTLS) || errors.Is(err, ErrUnreachable) {
		return err
	}
	if cause, hint := o.login(err); cause != nil {
		return fmt.Errorf("kafka: %w: %s: %w", cause, hint, err)
	}
	if cause, hint := o.tlsTrouble(err); cause != nil {
		return fmt.Errorf("kafka: %w: %s: %w", cause, hint, err)
	}
	for strings.HasPrefix(err.Error(), "kafka.(*Client).") && errors.Unwrap(err) != nil {
		err = errors.Unwrap(err) // it names the library's function
	}
	if unreachable(err) {
		return fmt.Errorf("kafka: %w at %s%s: %w", ErrUnreachable, strings.Join(o.Brokers, ","), o.hangup(err), err)
	}
	return fmt.Errorf("kafka: %w", err)
}

func (o Options) login(err error) (error, string) {
	switch {
	case errors.Is(err, kafkago.SASLAuthenticationFailed):
		return ErrLogin, fmt.Sprintf("wrong user or password for %q by %s", o.User, o.Mechanism)
	case errors.Is(err, kafkago.UnsupportedSASLMechanism):
		return ErrLogin, fmt.Sprintf("the broker does not offer SASL mechanism %s", o.Mechanism)
	case errors.Is(err, kafkago.IllegalSASLState):
		return ErrLogin, "the broker does not expect a SASL login on this port"
	}
	return nil, ""
}

func (o Options) tlsTrouble(err error) (error, string) {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown) && o.CAFile != "":
		return ErrTLS, "the broker's certificate is not signed by " + o.CAFile
	case errors.As(err, &unknown):
		return ErrTLS, "the broker's certificate is not signed by an authority that this system trusts; name its CA file"
	case errors.As(err, &host):
		return ErrTLS, "the broker's certificate is for another host name"
	case errors.As(err, &invalid), errors.As(err, &verify):
		return ErrTLS, "the broker's certificate is not valid"
	case errors.As(err, &record):
		return ErrTLS, "the broker does not speak TLS on this port"
	case errors.As(err, &alert):
		return ErrTLS, "the broker ended the TLS handshake; it may ask for a client certificate"
	case strings.Contains(err.Error(), "appears to be expecting TLS"):
		return ErrTLS, "the broker speaks TLS on this port; switch TLS on"
	}
	return nil, ""
}

// hangup says what a broker may have meant that closed the connection without
// a word. It may as well be restarting, so this is no more than a hint.
func (o Options) hangup(err error) string {
	switch {
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return ""
	case o.Mechanism != "":
		return fmt.Sprintf(" (connection closed; perhaps the login of %q was refused)", o.User)
	case o.secure():
		return " (connection closed; perhaps it asks for a SASL login, or speaks no TLS)"
	}
	return " (connection closed; perhaps it asks for a SASL login, or for TLS)"
}

func unreachable(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) || errors.As(err, &dns) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, syscall.ECONNREFUSED)
}
