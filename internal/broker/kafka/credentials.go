package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// tlsConfig is nil when o asks for no TLS.
func (o Options) tlsConfig() (*tls.Config, error) {
	if !o.secure() {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("kafka: CA file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka: CA file %s holds no PEM certificate", o.CAFile)
		}
	}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("kafka: client certificate %s with key %s: %w", o.CertFile, o.KeyFile, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// mechanism is nil when o asks for no login.
func (o Options) mechanism() (sasl.Mechanism, error) {
	if o.Mechanism == "" {
		return nil, nil
	}
	password, err := o.password()
	if err != nil {
		return nil, err
	}
	switch o.Mechanism {
	case Plain:
		return plain.Mechanism{Username: o.User, Password: password}, nil
	case ScramSHA256:
		return newScram(scram.SHA256, o.User, password)
	case ScramSHA512:
		return newScram(scram.SHA512, o.User, password)
	}
	return nil, fmt.Errorf("kafka: unknown SASL mechanism %q", o.Mechanism)
}

// newScram leaves the library's reason out of the error: it quotes the text
// that cannot be prepared, which may be the password.
func newScram(a scram.Algorithm, user, password string) (sasl.Mechanism, error) {
	m, err := scram.Mechanism(a, user, password)
	if err != nil {
		return nil, fmt.Errorf("kafka: user or password holds characters that %s does not allow (RFC 4013)", a.Name())
	}
	return m, nil
}

func (o Options) password() (string, error) {
	if o.PasswordFile == "" {
		return string(o.Password), nil
	}
	b, err := os.ReadFile(o.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("kafka: password file: %w", err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("kafka: password file %s: its first line is empty", o.PasswordFile)
	}
	return line, nil
}
