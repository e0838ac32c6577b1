package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
)

func TestSelfTestCommand(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	finds := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		switch {
		case strings.HasPrefix(r.URL.Path, "/locked/") && r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasPrefix(r.URL.Path, "/without/"):
			fmt.Fprintln(w, "isowatch_build_info 1")
		case n%3 == 0:
			w.WriteHeader(http.StatusServiceUnavailable) // it starts: no answer for ever
		case finds:
			fmt.Fprintf(w, "# TYPE %s gauge\n%s %d\n", selfTestMetric, selfTestMetric, 1760000000+n)
		default:
			fmt.Fprintf(w, "%s 1.5e+09\n", selfTestMetric)
		}
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tail, stream := filepath.Join(t.TempDir(), "tail.yaml"), filepath.Join(t.TempDir(), "nats.yaml")
	for name, text := range map[string]string{
		tail: "inputs:\n- tail: [/nowhere/*.jsonl]\n", stream: "inputs:\n- nats: {urls: [\"nats://127.0.0.1:1\"], stream: TXNS}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args  []string
		finds bool
		code  int
		says  string
	}{
		{[]string{server.URL}, true, exitOK, "it found the anomaly"},
		{[]string{server.URL + "/locked", "--token-file", file}, true, exitOK, "it found the anomaly"},
		{[]string{server.URL, "--patience", "2500ms"}, false, exitViolated, "it did not find its planted anomaly"},
		{[]string{server.URL + "/locked"}, true, exitUsage, "refuses the login (401 Unauthorized): give --user and --password-file, or --token-file"},
		{[]string{server.URL + "/without"}, true, exitUsage, "has no self-test"},
		{[]string{server.URL, "--config", tail}, true, exitOK, "it found the anomaly that it planted"},
		{[]string{server.URL, "--config", tail, "--config", tail}, true, exitUsage, "2 files of --config for 1 services"},
		{[]string{server.URL, "--config", file}, true, exitUsage, "token"},
		{[]string{server.URL + "/without", "--config", stream}, true, exitUsage, "has no self-test"},
		{[]string{server.URL, "--config", stream, "--patience", "2s"}, true, exitViolated, "no server answers"},
		{[]string{"localhost:8080"}, true, exitUsage, "want http://HOST:PORT"},
	} {
		finds = c.finds
		var out, errs bytes.Buffer
		code := run(context.Background(), append([]string{"self-test"}, c.args...), terminal{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, lookupEnv: func(string) (string, bool) { return "", false }})
		if text := out.String() + errs.String(); code != c.code || !strings.Contains(text, c.says) {
			t.Errorf("%v: code %d, want %d with %q\n%s", c.args, code, c.code, c.says, text)
		}
	}
}

// The stream may be as new as the service: the first attempt to publish finds none.
func TestSelfTestWaitsForStream(t *testing.T) {
	t.Parallel()
	broker, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "OTHER", Subjects: []string{"other"}})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	dialed, err := nats.Connect(broker.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	streams, err := jetstream.New(dialed)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(1500*time.Millisecond, func() {
		if _, err := streams.CreateStream(t.Context(), jetstream.StreamConfig{Name: "TXNS", Subjects: []string{"txns"}}); err != nil {
			t.Error(err)
		}
	})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/metrics") {
			fmt.Fprintf(w, "%s 1\n", selfTestMetric)
			return
		}
		s, err := streams.Stream(r.Context(), "TXNS")
		if err != nil || s.CachedInfo().State.Msgs != 2 {
			http.Error(w, fmt.Sprint(err), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, `[{"id":"it"}]`)
	}))
	defer service.Close()
	file := filepath.Join(t.TempDir(), "new.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "inputs:\n- nats: {urls: [%q], stream: TXNS}\n", broker.URL()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"self-test", service.URL, "--config", file, "--patience", "1m"}, terminal{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, lookupEnv: func(string) (string, bool) { return "", false }})
	if code != exitOK || !strings.Contains(out.String()+errs.String(), "published to nats:TXNS") {
		t.Errorf("code %d\n%s%s", code, &out, &errs)
	}
}
