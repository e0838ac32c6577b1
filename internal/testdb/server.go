package testdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const (
	// startWait bounds how long a server may take to answer; PostgreSQL took 0.2 s,
	// MariaDB 0.4 s.
	startWait = time.Minute
	// stopWait is how long a server may take to end before it is killed.
	stopWait = 20 * time.Second
)

// errNoProgram: a program that is needed is not installed.
var errNoProgram = errors.New("not installed")

// server is a process with its folder.
type server struct {
	dir      string // removed at the end; holds server.log
	port     int
	as       *syscall.Credential // nil: this user
	programs string              // folder of PostgreSQL's
	// ready says that the server answers. MariaDB does when its port is open.
	ready   func(ctx context.Context) error
	program string
	args    []string
	cmd     *exec.Cmd
	done    chan struct{} // closed when the process has ended
}

// newServer makes the folder, which any user can reach.
func newServer(name string) (*server, error) {
	dir, err := os.MkdirTemp("", "isowatch-"+name+"-")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer l.Close()
	s := &server{dir: dir, port: l.Addr().(*net.TCPAddr).Port}
	s.ready = s.open
	return s, nil
}

// open says that the port is.
func (s *server) open(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", s.address())
	if err != nil {
		return err
	}
	return conn.Close()
}

func (s *server) file(name string) string { return filepath.Join(s.dir, name) }

// prepare runs a program to its end.
func (s *server) prepare(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = s.dir, s.environ(), s.attributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// environ keeps temporary files apart: a MariaDB that starts removes those of others.
func (s *server) environ() []string { return append(os.Environ(), "TMPDIR="+s.dir) }

func (s *server) attributes() *syscall.SysProcAttr {
	a := attributes()
	a.Credential = s.as
	return a
}

// start starts the server and waits until it answers.
func (s *server) start(ctx context.Context, program string, args ...string) error {
	s.program, s.args = program, args
	return s.restart(ctx)
}

// restart starts the program of [server.start], on the files that are there.
func (s *server) restart(ctx context.Context) error {
	log, err := os.OpenFile(s.file("server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(s.program, s.args...)
	s.cmd.Env = s.environ()
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr, s.cmd.SysProcAttr = s.dir, log, log, s.attributes()
	s.done = make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // Pdeathsig is about the thread that forks
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait() // how it ended is in its log
		}
		close(s.done)
	}()
	if err := <-started; err != nil {
		return err
	}
	return s.awaitReady(ctx)
}

func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		err := s.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			log, _ := os.ReadFile(s.file("server.log"))
			return fmt.Errorf("%s ended at once:\n%s", s.cmd.Path, log)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", s.cmd.Path, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *server) address() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// stop ends the server by a signal, and removes its folder.
func (s *server) stop(by syscall.Signal) {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(by) // it may have ended
		select {
		case <-s.done:
		case <-time.After(stopWait):
			_ = s.cmd.Process.Kill()
			<-s.done
		}
	}
	_ = os.RemoveAll(s.dir) // of the machine's temporary files
}

// must skips the test without the programs, or fails where CI=true.
func must(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errNoProgram) && os.Getenv("CI") != "true" {
		t.Skipf("%v; with CI=true this is a failure", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
