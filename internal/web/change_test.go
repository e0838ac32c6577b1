package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/catalog"
)

// ask sends a form as a user.
func ask(handler http.Handler, method, target, form, user, password string, header map[string]string) (status int, body string, answer http.Header) {
	request := httptest.NewRequest(method, "http://h"+target, strings.NewReader(form))
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String(), recorder.Header()
}

func TestWho(t *testing.T) {
	verified := &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{Subject: pkix.Name{CommonName: "ops"}}}}}
	nameless := &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{Subject: pkix.Name{Organization: []string{"Shop"}}}}}}
	both := Guard{User: "ann", Password: []byte("pass"), Token: []byte("tok")}
	for _, c := range []struct {
		name   string
		guard  Guard
		header string // Authorization
		tls    *tls.ConnectionState
		want   string
	}{
		{"everybody", Guard{}, "", nil, ""},
		{"everybody, who says a name", Guard{}, "Basic YW5uOnBhc3M=", nil, ""},
		{"a user", both, "Basic YW5uOnBhc3M=", nil, "ann"},
		{"a token", both, "Bearer tok", nil, "token"},
		{"a certificate", Guard{Certificate: true}, "", verified, "ops"},
		{"a certificate without a common name", Guard{Certificate: true}, "", nameless, "certificate O=Shop"},
		{"a certificate, and another name", Guard{Certificate: true}, "Basic cm9vdDpwYXNz", verified, "ops"},
		{"a certificate and a token", Guard{Certificate: true, Token: []byte("tok")}, "Bearer tok", verified, "ops"},
		{"a certificate that nobody asked for", Guard{}, "", verified, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Authorization", c.header)
		r.TLS = c.tls
		if got := c.guard.who(r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Nothing is changed by people who are not known, by pages of others, or by what is no wish of ours.
func TestWhoMayChange(t *testing.T) {
	f := conflict("1a", 1, "checkout", "refund")
	key := groupKey(&f)
	guarded := Guard{User: "ann", Password: []byte("pass")}
	form := "group=" + key + "&do=acknowledge&why=known"
	for _, c := range []struct {
		name           string
		guard          Guard
		user, password string
		header         map[string]string
		form           string
		want           int
	}{
		{"no login is configured", Guard{}, "", "", nil, form, 403},
		{"no login is configured, and a name", Guard{}, "ann", "pass", nil, form, 403},
		{"no login", guarded, "", "", nil, form, 401},
		{"another password", guarded, "ann", "Pass", nil, form, 401},
		{"a login", guarded, "ann", "pass", nil, form, 303},
		{"a login, of our page", guarded, "ann", "pass", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://h"}, form, 303},
		{"a login, of another page", guarded, "ann", "pass", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "http://evil"}, form, 403},
		{"a login, of another page of the site", guarded, "ann", "pass", map[string]string{"Sec-Fetch-Site": "same-site"}, form, 403},
		{"a login, of another page, old browser", guarded, "ann", "pass", map[string]string{"Origin": "http://evil"}, form, 403},
		{"a login, behind a proxy", guarded, "ann", "pass", map[string]string{"Origin": "https://watch.example.com"}, form, 303},
		{"a large form", guarded, "ann", "pass", nil, form + strings.Repeat("x", maxChange), 413},
		{"a long reason", guarded, "ann", "pass", nil, form + strings.Repeat("x", maxWhy), 400},
		{"no reason", guarded, "ann", "pass", nil, "group=" + key + "&do=acknowledge&why=+", 400},
		{"another wish", guarded, "ann", "pass", nil, "group=" + key + "&do=remove&why=x", 400},
		{"another group", guarded, "ann", "pass", nil, "group=0&do=acknowledge&why=x", 404},
		{"a silence without an end", guarded, "ann", "pass", nil, "group=" + key + "&do=silence&why=x", 400},
		{"a silence that has ended", guarded, "ann", "pass", nil, "group=" + key + "&do=silence&why=x&for=-1h", 400},
		{"a silence for ever", guarded, "ann", "pass", nil, "group=" + key + "&do=silence&why=x&for=90000h", 400},
		{"a silence of days", guarded, "ann", "pass", nil, "group=" + key + "&do=silence&why=x&for=2d", 303},
		{"a silence of days for ever", guarded, "ann", "pass", nil, "group=" + key + "&do=silence&why=x&for=400d", 400},
		{"a silence of half days", guarded, "ann", "pass", nil, "group=" + key + "&do=silence&why=x&for=1.5d", 400},
		{"a silence until some time", guarded, "ann", "pass", nil, "group=" + key + "&do=silence&why=x&until=soon", 400},
	} {
		for _, target := range []string{"/findings", "/api/v1/groups/" + key} {
			_, board, o := groupsSite(f)
			o.Guard = func() Guard { return c.guard }
			o.External = "https://watch.example.com/isowatch"
			status, body, _ := ask(Handler(o), http.MethodPost, target, c.form, c.user, c.password, c.header)
			want := c.want
			if strings.HasPrefix(target, "/api") {
				want = map[int]int{303: 200}[want]
				if want == 0 {
					want = c.want
				}
				if c.name == "another group" {
					want = 200 // its group is that of the path
				}
			}
			if status != want || strings.Contains(body, "http.user with http.password-file, http.token-file or") != (status == 403 && c.guard.User == "") {
				t.Errorf("%s, %s: %d, want %d: %s", c.name, target, status, want, body)
			}
			if marks := board.Marks(key); (marks == catalog.Marks{}) == (want < 400) {
				t.Errorf("%s, %s: marks are %+v", c.name, target, marks)
			}
		}
	}
}

// Marks are shown with who, why and when, and can be taken back.
func TestMarksAreShown(t *testing.T) {
	f := conflict("1a", 1, "checkout", "refund")
	key := groupKey(&f)
	_, board, o := groupsSite(f)
	o.Guard = func() Guard { return Guard{User: "ann", Password: []byte("pass")} }
	handler := Handler(o)
	page := func() string {
		_, body, _ := ask(handler, http.MethodGet, "/findings?group="+key, "", "ann", "pass", nil)
		return body
	}
	say := func(form string) {
		t.Helper()
		status, body, header := ask(handler, http.MethodPost, "/findings", "group="+key+"&"+form, "ann", "pass", nil)
		if status != 303 || header.Get("Location") != "/findings?group="+key {
			t.Fatalf("%s: %d to %s: %s", form, status, header.Get("Location"), body)
		}
	}
	say("do=acknowledge&why=we+know+<b>")
	if body := page(); !strings.Contains(body, "Acknowledged by <b>ann</b>, <time datetime=\"2026-11-20T20:00:00Z\">2026-11-20 20:00:00.000 UTC</time> <span class=\"soft\">(0 s ago)</span>: we know &lt;b&gt;") {
		t.Errorf("the acknowledgement is not shown:\n%s", body)
	}
	say("do=silence&why=until+the+release&for=4h")
	if body := page(); !strings.Contains(body, "Silenced by <b>ann</b> until <time datetime=\"2026-11-21T00:00:00Z\">") {
		t.Errorf("the silence is not shown:\n%s", body)
	}
	if _, body, _ := ask(handler, http.MethodGet, "/findings?silenced=true&acknowledged=true", "", "ann", "pass", nil); !strings.Contains(body, "1 group of 1 finding") {
		t.Error("the filters do not find the group")
	}
	say("do=unsilence")
	say("do=unacknowledge")
	if marks := board.Marks(key); marks != (catalog.Marks{}) || strings.Contains(page(), "Silenced by") {
		t.Errorf("%+v are left", marks)
	}
	board.broken = ErrFilling
	for _, target := range []string{"/findings", "/api/v1/groups/" + key} {
		status, body, header := ask(handler, http.MethodPost, target, "group="+key+"&do=acknowledge&why=x", "ann", "pass", nil)
		if status != 503 || header.Get("Retry-After") == "" || !strings.Contains(body, "still being built") {
			t.Errorf("%s while the index is built: %d, %q, %s", target, status, header.Get("Retry-After"), body)
		}
	}
	board.broken = errors.New("disk 7")
	if status, body, _ := ask(handler, http.MethodPost, "/findings", "group="+key+"&do=acknowledge&why=x", "ann", "pass", nil); status != 500 || strings.Contains(body, "disk 7") {
		t.Errorf("a store that fails: %d, %s", status, body)
	}
}

func TestReloadByPost(t *testing.T) {
	for name, handler := range map[string]func(Options) http.Handler{
		"a monitor": Handler, "a member of a group": func(o Options) http.Handler { return ForGroup(GroupOptions{Options: o}) },
	} {
		t.Run(name, func(t *testing.T) { reloadsByPost(t, handler) })
	}
}

func reloadsByPost(t *testing.T, handler func(Options) http.Handler) {
	_, _, o := groupsSite()
	post := func(user string, header map[string]string) (int, string) {
		status, body, _ := ask(handler(o), http.MethodPost, "/-/reload", "", user, "pass", header)
		return status, body
	}
	calls, fails, waiting := 0, error(nil), []string(nil)
	o.Reload = func(context.Context) ([]string, error) { calls++; return waiting, fails }
	if status, _ := post("ann", nil); status != 403 || calls != 0 {
		t.Errorf("nobody is known: %d", status)
	}
	o.Guard = func() Guard { return Guard{User: "ann", Password: []byte("pass")} }
	if status, _ := post("", nil); status != 401 || calls != 0 {
		t.Errorf("no login: %d", status)
	}
	if status, _ := post("ann", map[string]string{"Origin": "http://evil"}); status != 403 || calls != 0 {
		t.Errorf("another page: %d", status)
	}
	if status, body := post("ann", nil); status != 200 || calls != 1 || !strings.Contains(body, "All settings") {
		t.Errorf("%d %s", status, body)
	}
	waiting = []string{"http", "memory"}
	if status, body := post("ann", nil); status != 200 || !strings.Contains(body, "wait for a restart: http, memory") {
		t.Errorf("%d %s", status, body)
	}
	fails = errors.New("levels: none is named")
	if status, body := post("ann", nil); status != 500 || !strings.Contains(body, "levels: none is named") {
		t.Errorf("%d %s", status, body)
	}
	o.Reload = nil
	if status, body := post("ann", nil); status != 409 || !strings.Contains(body, "--config") {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := ask(handler(o), http.MethodGet, "/-/reload", "", "ann", "pass", nil); status != 405 {
		t.Errorf("GET: %d", status)
	}
}
