package testdb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// postgresPrograms are where Debian installs a version of PostgreSQL.
const postgresPrograms = "/usr/lib/postgresql/*/bin"

// Postgres starts a server that ends with the test, and returns the URL of its
// database. Settings are such as "max_connections=300".
func Postgres(t testing.TB, settings ...string) (url string) {
	t.Helper()
	return StartPostgres(t, settings...).URL
}

// StartPostgres is [Postgres] for a test that kills the server.
func StartPostgres(t testing.TB, settings ...string) *Server {
	t.Helper()
	return runPostgres(t, func(s *server) error { return s.initdb(t.Context()) }, settings)
}

// initdb makes the files of a new server.
func (s *server) initdb(ctx context.Context) error {
	return s.prepare(ctx, s.postgres("initdb"), "-D", s.file("data"), "-A", "trust", "-U", "postgres", "-N", "--no-locale", "-E", "UTF8")
}

// runPostgres starts a server that ends with the test, on the data that fill makes.
func runPostgres(t testing.TB, fill func(*server) error, settings []string) *Server {
	t.Helper()
	s, url, err := startPostgres(t.Context(), fill, settings)
	if s != nil {
		t.Cleanup(func() { s.stop(syscall.SIGINT) }) // does not wait for its clients
	}
	must(t, err)
	return &Server{URL: url, server: s}
}

func startPostgres(ctx context.Context, fill func(*server) error, settings []string) (*server, string, error) {
	initdb, err := postgresProgram("initdb")
	if err != nil {
		return nil, "", err
	}
	s, err := newServer("postgres")
	if err != nil {
		return nil, "", err
	}
	s.programs = filepath.Dir(initdb)
	if os.Getuid() == 0 {
		if err := s.giveTo("postgres"); err != nil {
			return s, "", err
		}
	}
	s.ready = func(ctx context.Context) error { // it opens its port before it recovers
		return s.prepare(ctx, s.postgres("pg_isready"), "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port))
	}
	if err := fill(s); err != nil {
		return s, "", err
	}
	args := []string{"-D", s.file("data"), "-p", strconv.Itoa(s.port)}
	for _, setting := range append([]string{"listen_addresses=127.0.0.1", "unix_socket_directories=" + s.dir, "fsync=off"}, settings...) {
		args = append(args, "-c", setting)
	}
	err = s.start(ctx, s.postgres("postgres"), args...)
	return s, "postgres://postgres@" + s.address() + "/postgres?sslmode=disable", err
}

// postgres is a program of the server's version.
func (s *server) postgres(name string) string { return filepath.Join(s.programs, name) }

// postgresProgram looks for a program of the newest version that is installed.
func postgresProgram(name string) (string, error) {
	newest, program := 0, ""
	found, err := filepath.Glob(filepath.Join(postgresPrograms, name))
	if err != nil {
		return "", err
	}
	for _, file := range found {
		if version, err := strconv.Atoi(strings.Split(file, "/")[4]); err == nil && version > newest {
			newest, program = version, file
		}
	}
	if program == "" {
		if program, err = exec.LookPath(name); err != nil {
			return "", fmt.Errorf("PostgreSQL (%s in %s): %w", name, postgresPrograms, errNoProgram)
		}
	}
	return program, nil
}

// giveTo has the server run as the user: PostgreSQL refuses to run as root.
func (s *server) giveTo(name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, int(uid), int(gid))
}
