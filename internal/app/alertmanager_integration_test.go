//go:build integration

package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/config"
)

// alertmanager is a real one, running or not.
type alertmanager struct {
	t       *testing.T
	program string
	dir     string
	address string
	cmd     *exec.Cmd
}

// newAlertmanager skips the test without the program, or fails where CI=true: there it
// must be.
func newAlertmanager(t *testing.T) *alertmanager {
	t.Helper()
	a := &alertmanager{t: t, dir: t.TempDir()}
	for _, name := range []string{"prometheus-alertmanager", "alertmanager"} {
		if path, err := exec.LookPath(name); err == nil {
			a.program = path
		}
	}
	if a.program == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no Alertmanager: install prometheus-alertmanager")
		}
		t.Skip("needs the program prometheus-alertmanager; with CI=true its absence is a failure")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a.address = l.Addr().String()
	l.Close()
	const settings = "route: {receiver: none, group_wait: 1s}\nreceivers: [{name: none}]\n"
	if err := os.WriteFile(a.path("am.yml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.kill)
	return a
}

func (a *alertmanager) path(name string) string { return filepath.Join(a.dir, name) }

func (a *alertmanager) start() {
	a.t.Helper()
	log, err := os.OpenFile(a.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		a.t.Fatal(err)
	}
	defer log.Close()
	a.cmd = exec.Command(a.program, "--config.file="+a.path("am.yml"), "--storage.path="+a.path("data"),
		"--web.listen-address="+a.address, "--cluster.listen-address=")
	a.cmd.Stdout, a.cmd.Stderr = log, log
	if err := a.cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.eventually("ready", func() bool {
		response, err := http.Get("http://" + a.address + "/-/ready")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

func (a *alertmanager) kill() {
	if a.cmd != nil {
		a.cmd.Process.Kill()
		a.cmd.Wait() // it was killed
		a.cmd = nil
	}
}

func (a *alertmanager) eventually(what string, holds func() bool) {
	a.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(a.path("log")) // only to say more
			a.t.Fatalf("not %s within 30 s; it has %q\n%s", what, a.alerts(), log)
		}
	}
}

// alerts are those that it has: name, anomaly, state.
func (a *alertmanager) alerts() []string {
	response, err := http.Get("http://" + a.address + "/api/v2/alerts")
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var list []struct {
		Labels       map[string]string
		Status       struct{ State string }
		GeneratorURL string
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		a.t.Error(err)
	}
	var out []string
	for _, x := range list {
		out = append(out, fmt.Sprintf("%s %s %s %s", x.Labels["alertname"], x.Labels["source"], x.Labels["anomaly"], x.Status.State))
	}
	slices.Sort(out)
	return out
}

func (a *alertmanager) has(want ...string) func() bool {
	return func() bool { return slices.Equal(a.alerts(), want) }
}

func (a *alertmanager) silence(anomaly string) {
	a.t.Helper()
	now := time.Now().UTC()
	text, err := json.Marshal(map[string]any{
		"matchers": []map[string]any{{"name": "anomaly", "value": anomaly, "isRegex": false, "isEqual": true}},
		"startsAt": now.Add(-time.Minute), "endsAt": now.Add(time.Hour), "createdBy": "test", "comment": "test",
	})
	if err != nil {
		a.t.Fatal(err)
	}
	response, err := http.Post("http://"+a.address+"/api/v2/silences", "application/json", bytes.NewReader(text))
	if err != nil {
		a.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body) // only to say more
		a.t.Fatalf("%s: %s", response.Status, body)
	}
}

// A real Alertmanager receives, silences, goes down and comes back; what was found
// meanwhile arrives, what fired before fires again, and all of it resolves by itself.
func TestRealAlertmanager(t *testing.T) {
	am := newAlertmanager(t)
	am.start()
	s := liveService(t)
	sink := config.NewSink()
	to := config.NewAlertmanager()
	to.URLs, to.Resend, to.Hold = []string{"http://" + am.address}, time.Second, 20*time.Second
	sink.Alertmanager = &to
	s.Sinks = []config.Sink{sink}
	caughtAll := make(caught, 10)
	a := start(t, s, caughtAll)
	send(t, a, skewOne, skewTwo)
	caughtAll.next(t)
	const skew = "IsolationViolated default G2-item "
	am.eventually("told of write skew", am.has(skew+"active"))
	am.silence("G2-item")
	am.eventually("silenced", am.has(skew+"suppressed"))

	am.kill()
	send(t, a,
		`{"txn":"U0","status":"committed","ops":[{"op":"r","key":"r","found":false},{"op":"w","key":"r","value":1}]}`,
		`{"txn":"U1","status":"committed","ops":[{"op":"r","key":"r","value":1},{"op":"w","key":"r","value":2}]}`,
		`{"txn":"U2","status":"committed","ops":[{"op":"r","key":"r","value":1},{"op":"w","key":"r","value":3}]}`)
	caughtAll.next(t)
	am.start()
	const lost = "IsolationViolated default lost-update "
	am.eventually("told of both", func() bool {
		got := am.alerts()
		return len(got) == 2 && strings.HasPrefix(got[0], skew) && got[1] == lost+"active"
	})

	// The monitor is gone: each alert says itself when it ends.
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if err := a.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	am.eventually("resolved", am.has())
}
