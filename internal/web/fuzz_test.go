package web

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// FuzzRequest asks the handler anything. It never answers with an internal error, says
// what it is, repeats nothing unescaped, and shows nothing to strangers.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][3]string{
		{"GET", "/", ""}, {"HEAD", "/findings/1f", "Basic YW5uOnBhc3M="}, {"GET", "/findings/1f.svg", "Bearer tok"},
		{"GET", "/api/v1/findings?limit=5&before=1&kind=gap&state=final&source=%00", ""}, {"POST", "/metrics", "Bearer"},
		{"GET", "/?refresh=5&limit=9999999999999999999", "Basic !"}, {"GET", "/api/v1/findings/%2e%2e%2f", ""}, {"GET", "/debug/pprof/", ""},
		{"GET", "/findings/<script>", ""}, {"GET", "/?source=<script>", ""}, {"GET", "/..//-/ready", ""},
		{"GET", "/findings?q=x&sort=count&skip=9", ""}, {"POST", "/findings", "Basic !"}, {"GET", "/api/v1/groups?acknowledged=true", ""}, {"POST", "/-/reload", "Bearer x"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	o, _, logged := options(skew("1f"), skew("2f"))
	open := Handler(o)
	o.Guard = func() Guard {
		return Guard{User: "ann", Password: []byte("a long password that no fuzzer guesses"), Token: []byte("nor a token such as this")}
	}
	closed := Handler(o)
	f.Fuzz(func(t *testing.T, method, target, authorization string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || method == "" || strings.ContainsAny(method, " \r\n") {
			return // no server would hand it on
		}
		request := &http.Request{
			Method: method, URL: u, Host: "h", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RequestURI: target,
			Header: http.Header{"Authorization": {authorization}}, Body: io.NopCloser(strings.NewReader(target)), RemoteAddr: "127.0.0.1:1",
		}
		recorder := httptest.NewRecorder()
		open.ServeHTTP(recorder, request)
		if recorder.Code >= 500 {
			t.Errorf("%s %q: %d\n%s\n%s", method, target, recorder.Code, recorder.Body, logged)
		}
		if h := recorder.Header(); h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") != policy {
			t.Errorf("%s %q: headers %v", method, target, h)
		}
		if body := recorder.Body.String(); strings.HasPrefix(recorder.Header().Get("Content-Type"), "text/html") && strings.Contains(strings.Replace(body, ownScript, "", 1), "<script") {
			t.Errorf("%s %q: %s", method, target, body)
		}
		recorder = httptest.NewRecorder()
		closed.ServeHTTP(recorder, request)
		if strings.Contains(recorder.Body.String(), "write skew") || recorder.Code == http.StatusOK && u.Path != "/-/healthy" && u.Path != "/-/ready" {
			t.Errorf("%s %q as %q: a stranger is shown %d %s", method, target, authorization, recorder.Code, recorder.Body)
		}
	})
}

// FuzzConnection sends anything to the server. It answers or hangs up, and no handler
// panics.
func FuzzConnection(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n"))
	f.Add([]byte("GET /metrics HTTP/1.0\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n"))
	f.Add([]byte("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"))
	f.Add([]byte("HEAD /findings/1f HTTP/1.1\r\nHost: h\r\nContent-Length: 99999\r\nExpect: 100-continue\r\n\r\n"))
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	log := slog.New(slog.DiscardHandler)
	handler, _, _ := served(skew("1f"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		panicked := make(chan any, 100)
		server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if p := recover(); p != nil && p != http.ErrAbortHandler {
					panicked <- p
				}
			}()
			handler.ServeHTTP(w, r)
		}), log)
		ours, theirs := net.Pipe()
		l := &once{conn: make(chan net.Conn, 1)}
		l.conn <- theirs
		done := make(chan struct{})
		go func() { defer close(done); server.Serve(l) }()
		ours.SetDeadline(time.Now().Add(10 * time.Second))
		go func() {
			ours.Write(sent) // it may hang up before
			ours.Write([]byte("\r\n\r\n"))
			ours.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		}()
		io.Copy(io.Discard, ours)
		ours.Close()
		l.Close()
		<-done
		server.Close()
		select {
		case p := <-panicked:
			t.Fatalf("%q: %v", sent, p)
		default:
		}
	})
}

// once is a listener with one connection.
type once struct {
	conn  chan net.Conn
	close sync.Once // the server closes it as well
}

func (o *once) Accept() (net.Conn, error) {
	c, ok := <-o.conn
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (o *once) Close() error {
	o.close.Do(func() { close(o.conn) })
	return nil
}
func (o *once) Addr() net.Addr { return &net.TCPAddr{} }
