package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGroupReload: at SIGHUP, and when somebody who has logged in asks for it, a member takes other sinks for the units that it has,
// and other secrets of its pages. It refuses what the other members would not agree to.
func TestGroupReload(t *testing.T) {
	t.Parallel()
	records := plantedMessages(t, 4_000, 1_000)
	r := newGroupRun(t, nil, natsGroup, "file")
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.flags, r.file = []string{"--http", "127.0.0.1:0"}, fmt.Sprintf("http: {user: ann, password-file: %q}\n", password)
	r.start(t, "a")
	r.records = records[:200]
	r.publish(t.Context(), t, time.Second)
	r.await(t, "findings", func() bool { return len(r.texts()) >= groupSources })

	m := r.members[0]
	file := filepath.Join(m.dir, "isowatch.yaml")
	settings, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reload := func(text []byte, want string) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		m.signal(t, syscall.SIGHUP)
		r.await(t, want, func() bool { return strings.Contains(m.log.String(), want) })
	}
	other := &groupRun{text: map[string]string{}, first: map[string]string{}, posts: map[string]map[string]int{}, at: map[string]time.Time{}, term: map[string]int{}}
	hook := httptest.NewServer(http.HandlerFunc(other.take))
	t.Cleanup(hook.Close)
	reload(append(settings, "watch: {window: 2m}\n"...), "stop all of them, and start them with the new ones")
	reload(bytes.ReplaceAll(settings, []byte(r.hook), []byte(hook.URL)), `msg="the new configuration is in effect" unit=nats:G:g.2`)
	before := len(r.texts())
	r.records = records[200:]
	r.publish(t.Context(), t, time.Second)
	other.await(t, "findings at the other receiver", func() bool { return len(other.texts()) >= groupSources })
	if after := len(r.texts()); after != before {
		t.Errorf("the receiver before got %d findings more", after-before)
	}
	other.checkPosts(t, false)

	if err := os.WriteFile(file, append(settings, "watch: {window: 2m}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	at := m.address(t)
	if status, text := asAnn(t, http.MethodPost, at+"/-/reload", "first"); status != http.StatusInternalServerError || !strings.Contains(text, "stop all of them, and start them with the new ones") {
		t.Errorf("other levels: %d %s", status, text)
	}
	const metric = "isowatch_config_last_reload_successful"
	if _, text := asAnn(t, http.MethodGet, at+"/metrics", "first"); !strings.Contains(text, "\n"+metric+" 0\n") || strings.Count(text, "\n"+metric) != 1 {
		t.Errorf("a reload is refused, and %s is not 0, or there are several", metric)
	}
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(password, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, text := asAnn(t, http.MethodPost, at+"/-/reload", "first"); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := asAnn(t, http.MethodPost, at+"/-/reload", "first"); status != http.StatusUnauthorized {
		t.Errorf("the old password has status %d", status)
	}
	if err := os.WriteFile(file, append(settings, "min-free: 300MiB\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, text := asAnn(t, http.MethodPost, at+"/-/reload", "second"); status != http.StatusOK || !strings.Contains(text, "wait for a restart: min-free") {
		t.Errorf("a setting waits for a restart: %d %s", status, text)
	}
	if status, text := asAnn(t, http.MethodPost, at+unitOf(t, at, "second")+"-/reload", "second"); status != http.StatusOK || !strings.Contains(text, "wait for a restart: min-free") {
		t.Errorf("asked on the pages of a unit: %d %s", status, text)
	}
	if _, text := asAnn(t, http.MethodGet, at+"/metrics", "second"); !strings.Contains(text, "\n"+metric+" 1\n") {
		t.Errorf("%s is not 1 again", metric)
	}
}

// unitOf is the path of the pages of a unit.
func unitOf(t *testing.T, at, password string) string {
	t.Helper()
	var view struct{ Units []struct{ Pages string } }
	_, text := asAnn(t, http.MethodGet, at+"/api/v1/group", password)
	if err := json.Unmarshal([]byte(text), &view); err != nil || len(view.Units) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	return view.Units[0].Pages
}

// asAnn asks as the user ann.
func asAnn(t *testing.T, method, url, password string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("ann", password)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
