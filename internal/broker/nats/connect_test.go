package nats

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

const patience = 10 * time.Second

// serve runs a plain server with what its options say.
func serve(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoSigs, o.NoLog = "127.0.0.1", true, true
	if o.Port == 0 {
		o.Port = -1
	}
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(patience) {
		t.Fatal("server is not ready")
	}
	return s
}

func write(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantStatus waits for a status of the connection.
func wantStatus(t *testing.T, nc *nats.Conn, want nats.Status) {
	t.Helper()
	for deadline := time.Now().Add(patience); nc.Status() != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("status %v, last error %v, want %v", nc.Status(), nc.LastError(), want)
		}
	}
}

func TestAuthentication(t *testing.T) {
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	public, err := user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		server server.Options
		right  Options
		wrong  Options
	}{
		{"token", server.Options{Authorization: "t0k"}, Options{Token: "t0k"}, Options{Token: "no"}},
		{"token file", server.Options{Authorization: "t0k"}, Options{TokenFile: write(t, "token", []byte("t0k\n"))}, Options{}},
		{"password", server.Options{Username: "u", Password: "p"}, Options{User: "u", Password: "p"}, Options{User: "u", Password: "q"}},
		{"password file", server.Options{Username: "u", Password: "p"},
			Options{User: "u", PasswordFile: write(t, "password", []byte("p\r\n"))}, Options{User: "u"}},
		{"nkey", server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}}, Options{NKeyFile: write(t, "seed", seed)}, Options{Token: public}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.server)
			c.right.URLs, c.wrong.URLs = []string{s.ClientURL()}, []string{s.ClientURL()}
			nc, err := Connect(c.right)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			wantStatus(t, nc, nats.CONNECTED)
			bad, err := Connect(c.wrong)
			if err != nil {
				t.Fatal(err)
			}
			defer bad.Close()
			time.Sleep(50 * time.Millisecond)
			if st := bad.Status(); st != nats.RECONNECTING {
				t.Errorf("with wrong credentials: %v, want further attempts", st)
			}
		})
	}
}

func TestSecretFileIsReadAtEachConnection(t *testing.T) {
	s := serve(t, server.Options{Authorization: "new"})
	file := write(t, "token", []byte("old"))
	nc, err := Connect(Options{URLs: []string{s.ClientURL()}, TokenFile: file})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := os.WriteFile(file, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, nc, nats.CONNECTED)
}

func TestTLS(t *testing.T) {
	certPEM, keyPEM := certificate(t)
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	s := serve(t, server.Options{TLS: true, TLSTimeout: 5, TLSVerify: true, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
	}})
	ca := write(t, "ca.pem", certPEM)
	url := []string{strings.Replace(s.ClientURL(), "nats://", "tls://", 1)}
	nc, err := Connect(Options{URLs: url, CAFile: ca, CertFile: ca, KeyFile: write(t, "key.pem", keyPEM)})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	wantStatus(t, nc, nats.CONNECTED)
	if _, err := nc.TLSConnectionState(); err != nil {
		t.Error(err)
	}
	without, err := Connect(Options{URLs: url, CAFile: ca})
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close()
	time.Sleep(50 * time.Millisecond)
	if st := without.Status(); st == nats.CONNECTED {
		t.Error("connected without the certificate that the server asks for")
	}
}

// certificate makes one certificate that serves as CA, server and client.
func certificate(t *testing.T) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// journal is a log that a test reads while it is written.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func (j *journal) wait(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(j.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is not logged:\n%s", text, j)
		}
	}
}

// The server comes after the client, goes, and comes back.
func TestConnectsWhenTheServerIsThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	var log journal
	o := server.Options{Port: port, Username: "user", Password: "hunter2"}
	nc, err := Connect(Options{
		URLs:   []string{"nats://user:hunter2@" + l.Addr().String()},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	log.wait(t, "nats cannot connect")
	s := serve(t, o)
	wantStatus(t, nc, nats.CONNECTED)
	log.wait(t, "connected")
	s.Shutdown()
	log.wait(t, "nats disconnected")
	serve(t, o)
	log.wait(t, "nats reconnected")
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("the password is logged:\n%s", &log)
	}
	if n := strings.Count(log.String(), "cannot connect"); n > 4 {
		t.Errorf("%d times told that it cannot connect:\n%s", n, &log)
	}
}
