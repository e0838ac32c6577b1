package nats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing")
	url := []string{"nats://127.0.0.1:4222"}
	for _, c := range []struct {
		name string
		o    Options
		want []string // parts of the error; none: valid
	}{
		{"plain", Options{URLs: url}, nil},
		{"without scheme", Options{URLs: []string{"localhost", "10.0.0.1:4222", "[::1]:4222"}}, nil},
		{"other schemes", Options{URLs: []string{"tls://a", "ws://a", "wss://a:443"}}, nil},
		{"user in the URL and a token", Options{URLs: []string{"nats://u:p@a"}, Token: "t"}, nil},
		{"password from a file", Options{URLs: url, User: "u", PasswordFile: file}, nil},
		{"no URL", Options{}, []string{"no server URL"}},
		{"scheme", Options{URLs: []string{url[0], "kafka://a"}}, []string{"URL 2 of 2", `"kafka"`}},
		{"no host", Options{URLs: []string{"nats://:4222"}}, []string{"URL 1 of 1", "no host"}},
		{"no URL at all", Options{URLs: []string{"nats://a b:x"}}, []string{"not a URL"}},
		{"two ways", Options{URLs: url, Token: "t", CredsFile: file}, []string{"more than one way", "credentials file, token"}},
		{"password alone", Options{URLs: url, Password: "p"}, []string{"password without a user"}},
		{"two passwords", Options{URLs: url, User: "u", Password: "p", PasswordFile: file}, []string{"both a password"}},
		{"half a certificate", Options{URLs: url, CertFile: file}, []string{"certificate file and a key file"}},
		{"missing files", Options{URLs: url, NKeyFile: missing}, []string{"missing", "no such file"}},
		{"all faults at once", Options{Password: "p", KeyFile: file, TokenFile: missing},
			[]string{"no server URL", "password without", "key file", "no such file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.o.Validate()
			if err == nil && len(c.want) > 0 || err != nil && len(c.want) == 0 {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	const secret = "hunter2secret"
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	good := []string{"nats://127.0.0.1:4222"}
	for name, o := range map[string]Options{
		"URL with a bad host":   {URLs: []string{"nats://user:" + secret + "@a b"}},
		"URL with a bad escape": {URLs: []string{"nats://user:" + secret + "%zz@a"}},
		"URL with a bad port":   {URLs: []string{"nats://user:" + secret + "@a:port"}},
		"URL with a bad scheme": {URLs: []string{"http://user:" + secret + "@a"}},
		"nkey":                  {URLs: good, NKeyFile: file},
		"CA":                    {URLs: good, CAFile: file},
		"certificate":           {URLs: good, CertFile: file, KeyFile: file},
		"two ways":              {URLs: good, Token: secret, User: secret},
	} {
		_, err := Connect(o)
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReconnectDelay(t *testing.T) {
	for _, c := range []struct {
		rounds int
		want   time.Duration
	}{{0, 50 * time.Millisecond}, {1, 50 * time.Millisecond}, {2, 100 * time.Millisecond}, {4, 400 * time.Millisecond}, {7, 2 * time.Second}, {1 << 40, 2 * time.Second}} {
		if got := reconnectDelay(c.rounds); got != c.want {
			t.Errorf("after %d rounds: %v, want %v", c.rounds, got, c.want)
		}
	}
}
