package testdb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// PostgresTLS is [StartPostgres] of a server that offers TLS, with a certificate for 127.0.0.1
// that nobody else has signed: certificate is its file.
func PostgresTLS(t testing.TB, settings ...string) (s *Server, certificate string) {
	t.Helper()
	s = runPostgres(t, func(s *server) error {
		if err := s.initdb(t.Context()); err != nil {
			return err
		}
		cert, key, err := selfSigned(s.file("data"))
		if err != nil || s.as == nil {
			return err
		}
		return chown(s.as, cert, key)
	}, append(settings, "ssl=on"))
	return s, s.file("data/server.crt")
}

// MariaDBTLS is [StartMariaDB] of such a server.
func MariaDBTLS(t testing.TB, options ...string) (s *Server, certificate string) {
	t.Helper()
	cert, key, err := selfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return StartMariaDB(t, append(options, "--ssl-cert="+cert, "--ssl-key="+key)...), cert
}

// selfSigned writes a certificate and its key into the folder, under the names that PostgreSQL
// looks for in its data.
func selfSigned(folder string) (cert, key string, err error) {
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, form, form, secret.Public(), secret)
	if err != nil {
		return "", "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		return "", "", err
	}
	cert, key = filepath.Join(folder, "server.crt"), filepath.Join(folder, "server.key")
	if err := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600); err != nil {
		return "", "", err
	}
	return cert, key, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
}

func chown(as *syscall.Credential, files ...string) error {
	for _, file := range files {
		if err := os.Chown(file, int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}
	return nil
}
