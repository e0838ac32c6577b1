package app

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
)

// A member with a certificate of a private authority is asked with its CA file, and gets the login of the request.
func TestMemberBehindPrivateCA(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	writePair(t, cert, key, 1)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	login := ""
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		login = r.Header.Get("Authorization")
		w.Header().Set(memberHeader, "b")
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		}
	}))
	other.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	other.StartTLS()
	defer other.Close()
	from := httptest.NewRequest(http.MethodGet, "/", nil)
	from.SetBasicAuth("ann", "secret")
	for name, c := range map[string]struct {
		group config.Group
		path  string
		ok    bool
	}{
		"with the CA file":     {config.Group{CAFile: cert}, "/", true},
		"without it":           {config.Group{}, "/", false},
		"under another name":   {config.Group{CAFile: cert, ServerName: "elsewhere"}, "/", false},
		"that leads somewhere": {config.Group{CAFile: cert}, "/away", false},
		"under its own name":   {config.Group{CAFile: cert, ServerName: "127.0.0.1"}, "/", true},
	} {
		g := &Group{id: "a", config: config.Service{Group: c.group}}
		if g.asks, err = askingClient(&c.group); err != nil {
			t.Fatal(err)
		}
		login = ""
		_, err := g.ask(t.Context(), "b", other.URL, c.path, from)
		if (err == nil) != c.ok || c.ok && login == "" {
			t.Errorf("%s: %v, and the login %q", name, err, login)
		}
	}
	if _, err := askingClient(&config.Group{CAFile: key}); !errors.Is(err, ErrConfig) {
		t.Errorf("a CA file without a certificate: %v", err)
	}
	if _, err := askingClient(&config.Group{CAFile: dir + "/none"}); !errors.Is(err, ErrConfig) {
		t.Errorf("no CA file: %v", err)
	}
}

// A login goes to private addresses, or to members that a CA file vouches for.
func TestMayLogIn(t *testing.T) {
	for _, c := range []struct {
		ca, to string
		want   bool
	}{
		{"", "http://10.1.2.3:8080", true}, {"", "http://127.0.0.1", true}, {"", "http://[::1]:1", true}, {"", "http://[fd00::1]", true},
		{"", "http://100.64.1.1", true}, {"", "http://8.8.8.8:8080", false}, {"", "https://8.8.8.8", false}, {"", "https://example.com", false},
		{"ca", "https://8.8.8.8", true}, {"ca", "http://10.1.2.3", false},
	} {
		to, err := url.Parse(c.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := mayLogIn(&config.Group{CAFile: c.ca}, to); got != c.want {
			t.Errorf("%s with the CA file %q: %v", c.to, c.ca, got)
		}
	}
}

// A member whose pages want a certificate is asked with that of the group's settings.
func TestMemberThatWantsCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	own, ownKey := filepath.Join(dir, "own"), filepath.Join(dir, "own.key")
	writePair(t, cert, key, 1)
	writePair(t, own, ownKey, 2)
	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	l, err := secure(other.Listener, &config.HTTP{CertFile: cert, KeyFile: key, ClientCAFile: own})
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	other.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(memberHeader, "b")
		if r.TLS != nil {
			shown = len(r.TLS.VerifiedChains)
		}
	})
	other.Listener = l
	other.Start()
	defer other.Close()
	for _, c := range []struct {
		group config.Group
		want  int
	}{{config.Group{CAFile: cert, CertFile: own, KeyFile: ownKey}, 1}, {config.Group{CAFile: cert}, 0}} {
		g := &Group{id: "a", config: config.Service{Group: c.group}}
		if g.asks, err = askingClient(&c.group); err != nil {
			t.Fatal(err)
		}
		shown = -1
		_, err := g.ask(t.Context(), "b", "https://"+other.Listener.Addr().String(), "/", httptest.NewRequest(http.MethodGet, "/", nil))
		if err != nil || shown != c.want {
			t.Errorf("with %q: %d chains (%v), want %d", c.group.CertFile, shown, err, c.want)
		}
	}
	if _, err := askingClient(&config.Group{CertFile: own, KeyFile: key}); !errors.Is(err, ErrConfig) {
		t.Errorf("a key that does not fit: %v", err)
	}
}
