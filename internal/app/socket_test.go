package app

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestSocketIsPrivate(t *testing.T) {
	s := liveService(t)
	s.HTTP.Address = "off"
	a := start(t, s)
	info, err := os.Stat(a.path(socketName))
	if err != nil || info.Mode().Type() != os.ModeSocket || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", info, err)
	}
	if info, err = os.Stat(s.Data); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder %v, %v", info, err)
	}
	left, err := filepath.Glob(filepath.Join(s.Data, ".socket-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	stop(t, a)
	if _, err := os.Stat(a.path(socketName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("socket after the stop: %v", err)
	}
}

// A killed process leaves its socket; the next one takes its place.
func TestStaleSocketIsReplaced(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		l, err := listenUnix(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // without removing the file, as a kill would
		conn, err := net.Dial("unix", filepath.Join(dir, socketName))
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		l.Close()
	}
	err := askService(t.Context(), dir, Findings, nil)
	if !errors.Is(err, errNoService) {
		t.Errorf("a dead socket: %v", err)
	}
}

// Paths of sockets are limited to some 100 bytes, those of folders are not.
func TestSocketInDeepFolder(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux only: other systems have no /proc/self/fd to name a folder by")
	}
	s := liveService(t)
	s.HTTP.Address = "off"
	s.Data = filepath.Join(s.Data, strings.Repeat("deep/", 30))
	a := start(t, s)
	send(t, a, skewOne, skewTwo)
	waitFor(t, "the finding", func() bool { return len(stored(t, s.Data, Findings)) == 1 })
}

func TestReadStoredErrors(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	nothing := func([]byte) error { return nil }
	for _, c := range []struct {
		name, dir, want string
	}{
		{"no folder", filepath.Join(empty, "none"), "no such file"},
		{"no store", empty, "holds no findings"},
		{"a file", file, "is no folder"},
	} {
		if err := ReadStored(t.Context(), c.dir, Findings, nothing); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// What a service leaves that is killed at its very first start.
	if err := os.Mkdir(filepath.Join(empty, "store"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, empty, Findings); len(got) > 0 {
		t.Errorf("an empty store holds %v", got)
	}
	s := liveService(t)
	s.HTTP.Address = "off"
	a := start(t, s)
	send(t, a, "nonsense 1", "nonsense 2")
	waitFor(t, "the dead letters", func() bool { return len(stored(t, s.Data, DeadLetters)) == 2 })
	if err := ReadStored(t.Context(), s.Data, "rumours", nothing); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("unknown kind from the service: %v", err)
	}
	enough := errors.New("enough")
	for _, running := range []bool{true, false} {
		n := 0
		err := ReadStored(t.Context(), s.Data, DeadLetters, func([]byte) error { n++; return enough })
		if !errors.Is(err, enough) || n != 1 {
			t.Errorf("service running %v: %d records, then %v", running, n, err)
		}
		stop(t, a)
	}
	if err := ReadStored(t.Context(), s.Data, "rumours", nothing); !errors.Is(err, errUnknownKind) {
		t.Errorf("unknown kind from the store: %v", err)
	}
}

// A connection that breaks off is an error and not a short answer.
func TestBrokenAnswer(t *testing.T) {
	dir := t.TempDir()
	l, err := listenUnix(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "{}\n{}\n")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})}
	go server.Serve(l)
	defer server.Shutdown(context.Background())
	n := 0
	err = askService(t.Context(), dir, Findings, func([]byte) error { n++; return nil })
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after %d records: %v", n, err)
	}
}
