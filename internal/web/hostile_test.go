package web

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/page"
)

func TestPolicy(t *testing.T) {
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'self' 'sha256-") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "script-src 'self';") {
		t.Errorf("policy %s", policy)
	}
	handler, _, _ := served(skew("1f"), skew("2f"))
	for _, target := range []string{"/", "/findings/1f"} {
		_, body, _ := get(handler, target)
		body = strings.Replace(body, ownScript, "", 1)
		if strings.HasSuffix(target, ".html") {
			body = strings.Replace(body, "<script>"+page.Script, "", 1)
		}
		for _, banned := range []string{"<script", " style=", " onclick", "javascript:", "http://", "https://"} {
			rest := strings.ReplaceAll(body, `xmlns="http://www.w3.org/2000/svg"`, "")
			if strings.Contains(rest, banned) {
				t.Errorf("%s holds %q, which the policy blocks or should", target, banned)
			}
		}
	}
}

func TestReadOnly(t *testing.T) {
	handler, _, _ := served(skew("1f"))
	for _, target := range []string{"/", "/findings/1f", "/api/v1/findings", "/api/v1/status", "/metrics", "/-/healthy", "/-/ready"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, "TRACE"} {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequest(method, target, strings.NewReader("x")))
			if recorder.Code != http.StatusMethodNotAllowed || recorder.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q", method, target, recorder.Code, recorder.Header().Get("Allow"))
			}
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodHead, target, nil))
		if recorder.Code != http.StatusOK {
			t.Errorf("HEAD %s: %d", target, recorder.Code)
		}
	}
}

// Every text of a finding comes from clients of the watched database.
func TestHostileFinding(t *testing.T) {
	attack := `"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;{{.}}` + "\u202e\x1b[31m\x00\x07\r\u0085\u009b\u2028\ufeff"
	f := finding.Finding{
		ID: attack, Source: attack, Epoch: attack, Kind: finding.Kind(attack), State: finding.State(attack), Certain: true,
		Anomaly: attack, Title: attack + "2", Guidance: finding.Guidance{Headline: attack, Meaning: attack, Causes: []string{attack}, Next: []string{attack}},
		Refutes: []string{attack}, AlsoRefutes: []string{attack}, ElleNot: []string{attack},
		Txns: []string{attack}, Levels: map[string]string{attack: attack},
		Edges:       []finding.Edge{{From: attack, To: "x", Type: attack, Key: attack, Value: attack, Evidence: attack}},
		Explanation: attack + "\n\nLet:\n  " + attack + " = r " + attack + " 1\n\nThen:\n" + attack, Command: attack,
		FirstPosition: attack, LastPosition: attack, DetectedAt: attack,
	}
	handler, _, _ := served(f)
	c := cardOf(f)
	path := c.Path()
	for _, target := range []string{"/", path, path + ".svg", path + ".html", "/api/v1/findings", "/api/v1" + path, "/findings", "/findings?group=" + groupKey(&f), "/api/v1/groups"} {
		status, body, _ := get(handler, target)
		if status != 200 {
			t.Errorf("%s: %d", target, status)
		}
		body = strings.Replace(body, ownScript, "", 1)
		if strings.HasSuffix(target, ".html") {
			body = strings.Replace(body, "<script>"+page.Script, "", 1)
		}
		for _, banned := range []string{"<script", "<img"} {
			if strings.Contains(body, banned) {
				t.Errorf("%s holds %s", target, banned)
			}
		}
		for _, r := range body {
			if r != '\n' && (unicode.Is(unicode.C, r) || unicode.In(r, unicode.Zl, unicode.Zp)) && !(r >= 0x7f && strings.HasPrefix(target, "/api/")) { // JSON is data
				t.Errorf("%s holds %q", target, r)
				break
			}
		}
	}
	for _, target := range []string{"/?source=" + "%22%3E%3Cscript%3E", "/?anomaly=%3Cscript%3E", "/?%3Cscript%3E=1", "/findings?q=%22%3E%3Cscript%3E", "/findings?sort=%3Cscript%3E", "/findings?group=%3Cscript%3E", "/findings/%3Cscript%3E"} {
		if _, body, _ := get(handler, target); strings.Contains(strings.Replace(body, ownScript, "", 1), "<script") {
			t.Errorf("%s comes back unescaped", target)
		}
	}
}

// A client that sends its header drop by drop, or one without end, is cut off.
func TestServerLimits(t *testing.T) {
	server := NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	for name, d := range map[string]time.Duration{
		"ReadHeaderTimeout": server.ReadHeaderTimeout, "ReadTimeout": server.ReadTimeout,
		"WriteTimeout": server.WriteTimeout, "IdleTimeout": server.IdleTimeout,
	} {
		if d <= 0 || d > 2*time.Minute {
			t.Errorf("%s is %v", name, d)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener)
	defer server.Close()
	request, err := http.NewRequest(http.MethodGet, "http://"+listener.Addr().String()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Large", strings.Repeat("x", 64<<10))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 64 KiB: %s", response.Status)
	}
}

func TestBodyIsCutOff(t *testing.T) {
	var read error
	handler := harden(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, read = io.ReadAll(r.Body) }))
	request := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(strings.Repeat("x", maxBody+1)))
	handler.ServeHTTP(httptest.NewRecorder(), request)
	var tooLarge *http.MaxBytesError
	if !errors.As(read, &tooLarge) {
		t.Errorf("reading the body: %v", read)
	}
}

// ownScript is the only script of a page.
const ownScript = `<script src="/page.js" defer></script>`
