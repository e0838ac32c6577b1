package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/config"
)

// writePair makes a certificate that signs itself, for servers at 127.0.0.1 and for
// clients, and its key.
func writePair(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "isowatch test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{key: {Type: "PRIVATE KEY", Bytes: keyDER}, cert: {Type: "CERTIFICATE", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// secured gets the metrics over TLS and returns the status, the server's serial number
// and the body.
func secured(t *testing.T, a *App, ca, token string, pair ...tls.Certificate) (status int, serial int64, body string, err error) {
	t.Helper()
	return securedAt(t, a, "/metrics", ca, token, pair...)
}

func securedAt(t *testing.T, a *App, path, ca, token string, pair ...tls.Certificate) (status int, serial int64, body string, err error) {
	t.Helper()
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: pair}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequest(http.MethodGet, "https://"+a.HTTPAddr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.TLS.PeerCertificates[0].SerialNumber.Int64(), string(content), nil
}

func TestPagesOverTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	writePair(t, cert, key, 1)
	t.Setenv("PAGES_TOKEN", "tok")
	s := liveService(t)
	s.HTTP.CertFile, s.HTTP.KeyFile, s.HTTP.Token = cert, key, config.Secret{Env: "PAGES_TOKEN"}
	a := start(t, s)
	status, serial, body, err := secured(t, a, cert, "tok")
	if err != nil || status != http.StatusOK || serial != 1 || !strings.Contains(body, "isowatch_build_info") {
		t.Fatalf("%d, serial %d, %v", status, serial, err)
	}
	if strings.Contains(body, "tok\"") {
		t.Error("the token is in the metrics")
	}
	if status, _, _, err := secured(t, a, cert, "other"); err != nil || status != http.StatusUnauthorized {
		t.Errorf("with another token: %d, %v", status, err)
	}
	response, err := http.Get("http://" + a.HTTPAddr() + "/metrics")
	if err == nil {
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			t.Error("served without TLS")
		}
	}
	// A renewed certificate is served without a restart; one that is half-written is not.
	writePair(t, cert, key, 2)
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(cert, later, later); err != nil {
		t.Fatal(err)
	}
	if _, serial, _, err := secured(t, a, cert, "tok"); err != nil || serial != 2 {
		t.Errorf("after the renewal: serial %d, %v", serial, err)
	}
	keep := filepath.Join(dir, "keep.crt")
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(keep, text, 0o600), os.WriteFile(cert, text[:20], 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, serial, _, err := secured(t, a, keep, "tok"); err != nil || serial != 2 {
		t.Errorf("with a broken file: serial %d, %v", serial, err)
	}
}

func TestClientCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	own, ownKey := filepath.Join(dir, "own.crt"), filepath.Join(dir, "own.key")
	other, otherKey := filepath.Join(dir, "other.crt"), filepath.Join(dir, "other.key")
	writePair(t, cert, key, 1)
	writePair(t, own, ownKey, 2)
	writePair(t, other, otherKey, 3)
	s := liveService(t)
	s.HTTP.CertFile, s.HTTP.KeyFile, s.HTTP.ClientCAFile = cert, key, own
	a := start(t, s)
	for file, want := range map[string]bool{own: true, other: false, "": false} {
		var pairs []tls.Certificate
		if file != "" {
			pair, err := tls.LoadX509KeyPair(file, strings.TrimSuffix(file, ".crt")+".key")
			if err != nil {
				t.Fatal(err)
			}
			pairs = append(pairs, pair)
		}
		status, _, _, err := secured(t, a, cert, "", pairs...)
		if got := err == nil && status == http.StatusOK; got != want {
			t.Errorf("with %q: %d, %v", filepath.Base(file), status, err)
		}
	}
	for path, want := range map[string]int{"/-/ready": http.StatusOK, "/-/healthy": http.StatusOK, "/": http.StatusForbidden, "/api/v1/status": http.StatusForbidden} {
		if status, _, _, err := securedAt(t, a, path, cert, ""); err != nil || status != want {
			t.Errorf("%s without a certificate, as a probe asks: %d, %v", path, status, err)
		}
	}
}
