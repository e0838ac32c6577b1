package app

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/config"
)

// secure is l with TLS, where h asks for it.
func secure(l net.Listener, h *config.HTTP) (net.Listener, error) {
	if h.CertFile == "" {
		return l, nil
	}
	pair := &certificate{cert: h.CertFile, key: h.KeyFile}
	if _, err := pair.load(); err != nil {
		return nil, fmt.Errorf("%w: http: certificate %s with key %s: %w", ErrConfig, h.CertFile, h.KeyFile, err)
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.load() },
	}
	if h.ClientCAFile != "" { // who shows none is asked for it by path: probes have none
		pem, err := os.ReadFile(h.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("%w: http: client CA file: %w", ErrConfig, err)
		}
		c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !c.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: http: client CA file %s holds no PEM certificate", ErrConfig, h.ClientCAFile)
		}
	}
	return tls.NewListener(l, c), nil
}

// certificate is a pair of files, read again when the first is renewed.
type certificate struct {
	cert, key string

	mu     sync.Mutex
	made   time.Time // modification of the file that was read
	loaded *tls.Certificate
}

// load gives the one before when the new one cannot be read: it may be half-written.
func (c *certificate) load() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.cert)
	if err == nil && c.loaded != nil && info.ModTime().Equal(c.made) {
		return c.loaded, nil
	}
	pair, e := tls.LoadX509KeyPair(c.cert, c.key)
	switch {
	case e != nil && c.loaded == nil:
		return nil, e
	case e != nil || err != nil:
		return c.loaded, nil
	}
	c.loaded, c.made = &pair, info.ModTime()
	return c.loaded, nil
}
