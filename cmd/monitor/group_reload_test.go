package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGroupReload: at SIGHUP a member takes other sinks for the units that it has, and refuses what the other members would not agree to.
func TestGroupReload(t *testing.T) {
	t.Parallel()
	records := plantedMessages(t, 4_000, 1_000)
	r := newGroupRun(t, nil, natsGroup, "file")
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
}
