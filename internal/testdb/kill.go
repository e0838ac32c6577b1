package testdb

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a server that a test may kill.
type Server struct {
	// URL is the address that clients connect to: of PostgreSQL that of its database, of MariaDB the
	// data source name of its root user, as the Go driver reads it. A restart keeps it.
	URL string
	*server
}

// Kill ends all processes of the server at once, as kill -9 does. What it had handed to
// the operating system is kept; what was in its memory alone is lost.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := s.kill(); err != nil {
		t.Fatal(err)
	}
}

// Checkpoint has a PostgreSQL write all that was committed so far: a table that was just
// made is lost at a Kill otherwise, where commits are asynchronous.
func (s *Server) Checkpoint(t testing.TB) {
	t.Helper()
	if err := s.psql(t.Context(), "CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
}

// Restart starts a server that was killed anew, on its files, and waits until it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// kill stops the first process before its children end, so that it starts no others.
func (s *server) kill() error {
	first := s.cmd.Process.Pid
	if err := syscall.Kill(first, syscall.SIGSTOP); err != nil {
		return err
	}
	children, err := childrenOf(first)
	if err != nil {
		return err
	}
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	for _, pid := range children { // a restart is refused while one has the shared memory
		for lives(pid) {
			time.Sleep(time.Millisecond)
		}
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		return err
	}
	<-s.done
	return nil
}

// childrenOf are those of all threads of a process.
func childrenOf(pid int) ([]int, error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	var children []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				return nil, err
			}
			children = append(children, child)
		}
	}
	return children, nil
}

// lives says whether a process has not ended, whoever has yet to hear of it.
func lives(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	name := strings.LastIndex(string(text), ") ") // its state follows: Z is dead
	return name >= 0 && !strings.HasPrefix(string(text[name+2:]), "Z")
}
