//go:build integration

package kafka

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/isowatch/isowatch/internal/testkafka"
)

func TestRealBrokerTellsTheCause(t *testing.T) {
	b := testkafka.ForTest(t, testkafka.Config{Heap: "128m"})
	_, otherCA := certificate(t, "127.0.0.1")
	passwordFile := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(passwordFile, []byte(testkafka.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	as := func(mechanism string, password Secret) Options {
		return Options{Brokers: []string{b.SecureAddr()}, CAFile: b.CAFile(), Mechanism: mechanism, User: testkafka.User, Password: password}
	}
	fromFile := as(ScramSHA512, "")
	fromFile.PasswordFile = passwordFile
	stranger := as(ScramSHA256, testkafka.Password)
	stranger.User = "mallory"
	untrusted := as(Plain, testkafka.Password)
	untrusted.CAFile = otherCA
	unnamed := as(Plain, testkafka.Password)
	unnamed.CAFile, unnamed.TLS = "", true
	bare := as(Plain, testkafka.Password)
	bare.CAFile = ""

	for _, c := range []struct {
		name string
		opts Options
		want error
		text string
	}{
		{"plain listener", Options{Brokers: []string{b.Addr()}}, nil, ""},
		{"PLAIN", as(Plain, testkafka.Password), nil, ""},
		{"SCRAM-SHA-256", as(ScramSHA256, testkafka.Password), nil, ""},
		{"SCRAM-SHA-512 from a file", fromFile, nil, ""},
		{"wrong password by PLAIN", as(Plain, "hush"), ErrLogin, `wrong user or password for "alice" by PLAIN`},
		{"wrong password by SCRAM-SHA-256", as(ScramSHA256, "hush"), ErrLogin, `wrong user or password for "alice" by SCRAM-SHA-256`},
		{"wrong password by SCRAM-SHA-512", as(ScramSHA512, "hush"), ErrLogin, `wrong user or password for "alice" by SCRAM-SHA-512`},
		{"unknown user", stranger, ErrLogin, `wrong user or password for "mallory"`},
		{"another authority", untrusted, ErrTLS, "not signed by " + otherCA},
		{"no authority", unnamed, ErrTLS, "name its CA file"},
		{"no TLS where it is spoken", bare, ErrTLS, "switch TLS on"},
		{"TLS where it is not", Options{Brokers: []string{b.Addr()}, TLS: true}, ErrUnreachable, "speaks no TLS"},
		{"login where none is expected", Options{Brokers: []string{b.Addr()}, Mechanism: Plain, User: "alice", Password: "hush"}, ErrLogin, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := probe(t, c.opts)
			t.Log(err)
			wantCause(t, err, c.want, c.text)
		})
	}
}
