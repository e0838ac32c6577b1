// Package testnats runs a real nats-server process for integration tests: one
// that can be killed.
package testnats

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Module is built to get the program: the version is that of go.mod.
const Module = "github.com/nats-io/nats-server/v2"

// startWait bounds how long a server may take to answer.
const startWait = 30 * time.Second

// Build compiles nats-server to dir and returns the program's path. The first
// build on a machine takes about two minutes, further ones a second.
func Build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "nats-server")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, Module)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", Module, err, out)
	}
	return program, nil
}

// Server is one server with its port and store, running or not.
type Server struct {
	Program string   // as Build gave it
	Dir     string   // holds the store and the log
	Args    []string // more arguments

	port int
	cmd  *exec.Cmd
	log  *os.File
}

// URL is where clients connect, the same after each start.
func (s *Server) URL() string { return "nats://127.0.0.1:" + strconv.Itoa(s.port) }

// Start runs the server with JetStream on its store, and waits until JetStream
// answers. The first start picks a free port, later ones keep it.
func (s *Server) Start(ctx context.Context) error {
	if s.cmd != nil {
		return fmt.Errorf("nats-server %d runs already", s.cmd.Process.Pid)
	}
	if s.port == 0 {
		port, err := freePort(ctx)
		if err != nil {
			return err
		}
		s.port = port
	}
	log, err := os.OpenFile(filepath.Join(s.Dir, "nats-server.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	args := append([]string{"-a", "127.0.0.1", "-p", strconv.Itoa(s.port), "-js", "-sd", filepath.Join(s.Dir, "store")}, s.Args...)
	cmd := exec.Command(s.Program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		log.Close()
		return err
	}
	s.cmd, s.log = cmd, log
	if err := s.answers(ctx); err != nil {
		return fmt.Errorf("%w (log: %s)", err, log.Name())
	}
	return nil
}

// answers waits for JetStream.
func (s *Server) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		err := s.ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nats-server at %s does not answer: %w", s.URL(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Server) ask(ctx context.Context) error {
	// A request to a cluster that has no leader yet is never answered.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	nc, err := nats.Connect(s.URL())
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	_, err = js.AccountInfo(ctx)
	return err
}

// Kill ends the server with SIGKILL, as a crash does, and waits for its end.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Stop ends the server with SIGTERM.
func (s *Server) Stop() error { return s.end(syscall.SIGTERM) }

// Pause stops the process where it is (SIGSTOP); Resume lets it go on.
func (s *Server) Pause() error  { return s.cmd.Process.Signal(syscall.SIGSTOP) }
func (s *Server) Resume() error { return s.cmd.Process.Signal(syscall.SIGCONT) }

func (s *Server) end(sig syscall.Signal) error {
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(sig); err != nil {
		return err
	}
	_ = s.cmd.Wait() // its state tells the signal, which is known
	s.log.Close()
	s.cmd, s.log = nil, nil
	return nil
}

func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
