package kafka

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// certificate is self-signed for host, with the file that holds it.
func certificate(t *testing.T, host string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		x.IPAddresses = []net.IP{ip}
	} else {
		x.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, x, x, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func cluster(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, string) {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, c.ListenAddrs()[0]
}

func probe(t *testing.T, o Options) error {
	t.Helper()
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return c.Probe(ctx)
}

func TestProbeTellsTheCause(t *testing.T) {
	own, ownCA := certificate(t, "127.0.0.1")
	other, otherCA := certificate(t, "broker.example")
	serve := func(c tls.Certificate) kfake.Opt { return kfake.TLS(&tls.Config{Certificates: []tls.Certificate{c}}) }
	_, plain := cluster(t)
	_, secure := cluster(t, serve(own))
	_, elsewhere := cluster(t, serve(other))
	login, sasl := cluster(t, kfake.EnableSASL(), kfake.Superuser(Plain, "alice", "right"))
	dead := "127.0.0.1:1"

	for _, c := range []struct {
		name string
		opts Options
		want error  // the cause
		text string // in the error
	}{
		{"plain", Options{Brokers: []string{plain}}, nil, ""},
		{"TLS", Options{Brokers: []string{secure}, CAFile: ownCA}, nil, ""},
		{"login", Options{Brokers: []string{sasl}, Mechanism: Plain, User: "alice", Password: "right"}, nil, ""},
		{"one broker of two is dead", Options{Brokers: []string{dead, plain}}, nil, ""},
		{"no broker", Options{Brokers: []string{dead}}, ErrUnreachable, "no broker answers at 127.0.0.1:1"},
		{"unknown authority", Options{Brokers: []string{secure}, CAFile: otherCA}, ErrTLS, "not signed by " + otherCA},
		{"authority that the system does not know", Options{Brokers: []string{secure}, TLS: true}, ErrTLS, "name its CA file"},
		{"another host", Options{Brokers: []string{elsewhere}, CAFile: otherCA}, ErrTLS, "for another host name"},
		{"plaintext to a TLS port that hangs up", Options{Brokers: []string{secure}}, ErrUnreachable, "perhaps it asks for a SASL login, or for TLS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantCause(t, probe(t, c.opts), c.want, c.text)
		})
	}

	t.Run("unsupported mechanism", func(t *testing.T) {
		f := login.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SASLHandshake}, TopLevel: true, Err: kerr.UnsupportedSaslMechanism, Count: -1})
		defer f.Remove()
		err := probe(t, Options{Brokers: []string{sasl}, Mechanism: ScramSHA512, User: "alice", Password: "hush"})
		wantCause(t, err, ErrLogin, "does not offer SASL mechanism SCRAM-SHA-512")
	})
	t.Run("wrong password", func(t *testing.T) {
		f := login.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SASLAuthenticate}, TopLevel: true, Err: kerr.SaslAuthenticationFailed, Count: -1})
		defer f.Remove()
		err := probe(t, Options{Brokers: []string{sasl}, Mechanism: Plain, User: "alice", Password: "hush"})
		wantCause(t, err, ErrLogin, `wrong user or password for "alice" by PLAIN`)
	})
	t.Run("broker that hangs up at the login", func(t *testing.T) {
		err := probe(t, Options{Brokers: []string{sasl}, Mechanism: Plain, User: "alice", Password: "hush"})
		wantCause(t, err, ErrUnreachable, `perhaps the login of "alice" was refused`)
	})
}

func wantCause(t *testing.T, err, want error, text string) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Fatalf("error %v, want %v with %q", err, want, text)
	}
	if Permanent(err) != (want != ErrUnreachable) {
		t.Errorf("permanent: %v", Permanent(err))
	}
	if strings.Contains(err.Error(), "hush") {
		t.Errorf("the password is in %v", err)
	}
}

func TestProbeOfSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	err = probe(t, Options{Brokers: []string{l.Addr().String()}, DialTimeout: 200 * time.Millisecond})
	wantCause(t, err, ErrUnreachable, "no broker answers")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v with a dial timeout of 200 ms", took)
	}
}

func TestExplainKeepsWhatItKnows(t *testing.T) {
	o := Options{Brokers: []string{"a"}}
	once := o.explain(context.DeadlineExceeded)
	if twice := o.explain(once); twice.Error() != once.Error() {
		t.Errorf("explained twice: %v", twice)
	}
	if o.explain(nil) != nil {
		t.Error("no error was explained")
	}
	alert := fmt.Errorf("%w: broker appears to be expecting TLS", io.ErrUnexpectedEOF) // as kafka-go says it
	if err := o.explain(alert); !errors.Is(err, ErrTLS) || !strings.Contains(err.Error(), "switch TLS on") {
		t.Errorf("a TLS alert became %v", err)
	}
	odd := errors.New("odd")
	if err := o.explain(odd); !errors.Is(err, odd) || Permanent(err) {
		t.Errorf("an unknown error became %v", err)
	}
}
