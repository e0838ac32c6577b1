package kafka

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		opts   Options
		faults []string // parts of the error; none: valid
	}{
		{"plain", Options{Brokers: []string{"a:9092", "b"}}, nil},
		{"login", Options{Brokers: []string{"a"}, Mechanism: ScramSHA512, User: "u", Password: "p"}, nil},
		{"login from a file", Options{Brokers: []string{"a"}, Mechanism: Plain, User: "u", PasswordFile: "f"}, nil},
		{"no broker", Options{}, []string{"no broker is named"}},
		{"addresses", Options{Brokers: []string{"", "a:b", "a:0", ":9092", "http://a", "a:65536"}},
			[]string{`"" is not`, `"a:b" is not`, `"a:0" is not`, `":9092" is not`, `"http://a" is not`, `"a:65536" is not`}},
		{"half a certificate", Options{Brokers: []string{"a"}, CertFile: "c"}, []string{"both its file and its key"}},
		{"mechanism", Options{Brokers: []string{"a"}, Mechanism: "GSSAPI", User: "u", Password: "p"}, []string{`"GSSAPI" is not one of PLAIN`}},
		{"password without mechanism", Options{Brokers: []string{"a"}, Password: "p"}, []string{"no SASL mechanism"}},
		{"mechanism alone", Options{Brokers: []string{"a"}, Mechanism: Plain}, []string{"needs a user", "either a password or a password file"}},
		{"both passwords", Options{Brokers: []string{"a"}, Mechanism: Plain, User: "u", Password: "hush", PasswordFile: "f"}, []string{"either a password"}},
		{"timeout", Options{Brokers: []string{"a"}, DialTimeout: -1}, []string{"negative"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.opts.Validate()
			if (err == nil) != (len(c.faults) == 0) {
				t.Fatalf("error %v", err)
			}
			for _, f := range c.faults {
				if !strings.Contains(err.Error(), f) {
					t.Errorf("%q is not in %v", f, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("the password is in %v", err)
			}
		})
	}
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a:9092", "a:1": "a:1", "10.0.0.1": "10.0.0.1:9092", "::1": "[::1]:9092", "[::1]": "[::1]:9092", "[::1]:7": "[::1]:7",
	} {
		got, err := address(in)
		if err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	o := Options{Brokers: []string{"a"}, Password: "hush"}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "options", o, "password", o.Password)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "options", o, "password", o.Password)
	encoded, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{log.String(), string(encoded)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(verb, o), fmt.Sprintf(verb, &o), fmt.Sprintf(verb, o.Password))
	}
	for _, text := range texts {
		if strings.Contains(text, "hush") || strings.Contains(text, "68757368") || !strings.Contains(text, redacted) {
			t.Errorf("printed %s", text)
		}
	}
}

func TestPasswordFile(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"pw": "pw", "pw\n": "pw", "pw\r\nmore": "pw", " p w \n": " p w "} {
		path := filepath.Join(dir, "password")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Options{PasswordFile: path}.password()
		if err != nil || got != want {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "\n", "\npw"} {
		path := filepath.Join(dir, "empty")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (Options{PasswordFile: path}).password(); err == nil || !strings.Contains(err.Error(), "first line is empty") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOpenNamesTheFileThatFails(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.pem")
	if err := os.WriteFile(text, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	login := Options{Brokers: []string{"a"}, Mechanism: ScramSHA256, User: "u"}
	absent := login
	absent.PasswordFile = filepath.Join(dir, "absent")
	control := login
	control.Password = "p\x00hush"
	for _, c := range []struct {
		name string
		opts Options
		want string
	}{
		{"CA missing", Options{Brokers: []string{"a"}, CAFile: filepath.Join(dir, "absent.pem")}, "absent.pem"},
		{"CA without certificate", Options{Brokers: []string{"a"}, CAFile: text}, "holds no PEM certificate"},
		{"key pair", Options{Brokers: []string{"a"}, CertFile: text, KeyFile: text}, "client certificate"},
		{"password file", absent, "password file"},
		{"password that SCRAM cannot carry", control, "SCRAM-SHA-256 does not allow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(c.opts)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestReconnectIsLimited(t *testing.T) {
	c, err := Open(Options{Brokers: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1000, 0)
	var at []time.Duration
	for ms := range 500 {
		now := start.Add(time.Duration(ms) * time.Millisecond)
		c.Reconnect(now)
		if c.closedAt.Equal(now) {
			at = append(at, now.Sub(start))
		}
	}
	if want := "[0s 200ms 400ms]"; fmt.Sprint(at) != want {
		t.Errorf("closed at %v, want %s", at, want)
	}
}
