package web

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestGuard(t *testing.T) {
	password := Guard{User: "ann", Password: []byte("pass")}
	token := Guard{Token: []byte("tok")}
	either := Guard{User: "ann", Password: []byte("pass"), Token: []byte("tok")}
	basic := func(user, pass string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(user, pass) }
	}
	header := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", value) }
	}
	none := func(*http.Request) {}
	verified := func(r *http.Request) {
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
	}
	for _, c := range []struct {
		name  string
		guard Guard
		with  func(*http.Request)
		want  bool
	}{
		{"open", Guard{}, none, true},
		{"nothing shown", either, none, false},
		{"password", password, basic("ann", "pass"), true},
		{"other password", password, basic("ann", "Pass"), false},
		{"no password", password, basic("ann", ""), false},
		{"other user", password, basic("bob", "pass"), false},
		{"token for a password", password, header("Bearer pass"), false},
		{"empty token for a password", password, header("Bearer "), false},
		{"token", token, header("Bearer tok"), true},
		{"token, other case", token, header("bearer tok"), true},
		{"other token", token, header("Bearer tokk"), false},
		{"part of the token", token, header("Bearer to"), false},
		{"nobody's password", token, basic("", ""), false},
		{"either, password", either, basic("ann", "pass"), true},
		{"either, token", either, header("Bearer tok"), true},
		{"either, wrong scheme", either, header("Digest tok"), false},
		{"nonsense", either, header("Basic !!!"), false},
		{"user without a secret", Guard{User: "ann"}, basic("ann", ""), false},
		{"certificate", Guard{Certificate: true}, verified, true},
		{"no TLS", Guard{Certificate: true}, none, false},
		{"no certificate", Guard{Certificate: true}, func(r *http.Request) { r.TLS = &tls.ConnectionState{} }, false},
		{"certificate and token", Guard{Certificate: true, Token: []byte("tok")}, verified, false},
		{"token and no certificate", Guard{Certificate: true, Token: []byte("tok")}, header("Bearer tok"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, target := range []string{"/", "/metrics", "/api/v1/findings", "/debug/pprof/", "//-/ready", "/-/ready/"} {
				request := httptest.NewRequest(http.MethodGet, "http://h"+target, nil)
				c.with(request)
				recorder := httptest.NewRecorder()
				guarded(func() Guard { return c.guard }, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(recorder, request)
				if got := recorder.Code == http.StatusOK; got != c.want {
					t.Errorf("%s: %d", target, recorder.Code)
				}
				if recorder.Code == http.StatusUnauthorized && recorder.Header().Get("WWW-Authenticate") == "" {
					t.Errorf("%s: refused without saying what is wanted", target)
				}
			}
		})
	}
	recorder := httptest.NewRecorder()
	guarded(func() Guard { return either }, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/-/healthy", nil))
	if recorder.Code != http.StatusOK {
		t.Errorf("a probe is refused: %d", recorder.Code)
	}
}

func TestProfiles(t *testing.T) {
	o, _, _ := options()
	for _, on := range []bool{false, true} {
		o.Profiles = on
		status, _, _ := get(Handler(o), "/debug/pprof/goroutine?debug=1")
		if want := map[bool]int{false: http.StatusNotFound, true: http.StatusOK}[on]; status != want {
			t.Errorf("profiles %v: %d", on, status)
		} else if status, _, _ := get(ForGroup(GroupOptions{Options: o}), "/debug/pprof/goroutine?debug=1"); status != want {
			t.Errorf("profiles %v of a group: %d", on, status)
		}
		if status, body, _ := get(Handler(o), "/debug/pprof/cmdline"); status == http.StatusOK {
			t.Errorf("the command line is shown: %s", body)
		}
	}
}

// Health is answered to all, and the rest to nobody without a login: below the path of a proxy too, of a
// member of a group, and of a service that has not begun.
func TestGuardBelowPath(t *testing.T) {
	o, _, _ := options()
	o.Guard = func() Guard { return Guard{User: "ann", Password: []byte("pass")} }
	for _, base := range []string{"", "/isowatch"} {
		o.Base = base
		for name, handler := range map[string]http.Handler{"the service": Handler(o), "a member": ForGroup(GroupOptions{Options: o}), "before the start": WhileWaiting(o)} {
			for target, want := range map[string]int{
				"/-/healthy": http.StatusOK, "/-/ready": http.StatusOK, "/-/reload": http.StatusUnauthorized, "/": http.StatusUnauthorized,
				"/metrics": http.StatusUnauthorized, "/api/v1/findings": http.StatusUnauthorized, UnitPages + "1/-/ready": http.StatusUnauthorized,
			} {
				if status, body, _ := get(handler, target); status != want {
					t.Errorf("%s: %s: %d, want %d: %s", name, target, status, want, body)
				}
				if status, body, _ := get(handler, base+target); status != want {
					t.Errorf("%s: %s: %d, want %d: %s", name, base+target, status, want, body)
				}
			}
			if status, _, _ := get(handler, "/other/-/ready"); status != http.StatusUnauthorized {
				t.Errorf("%s: below another path: %d", name, status)
			}
		}
	}
}
