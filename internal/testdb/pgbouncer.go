package testdb

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// PgBouncer starts a pool in transaction mode before the PostgreSQL server at to, which ends
// with the test, and returns its URL. Settings are such as "default_pool_size=2".
func PgBouncer(t testing.TB, to string, settings ...string) (url string) {
	t.Helper()
	s, url, err := startPgBouncer(t.Context(), to, settings)
	if s != nil {
		t.Cleanup(func() { s.stop(syscall.SIGINT) })
	}
	must(t, err)
	return url
}

func startPgBouncer(ctx context.Context, to string, settings []string) (*server, string, error) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !isFile(program) {
			return nil, "", fmt.Errorf("PgBouncer (pgbouncer): %w", errNoProgram)
		}
	}
	server, err := url.Parse(to)
	if err != nil {
		return nil, "", err
	}
	s, err := newServer("pgbouncer")
	if err != nil {
		return nil, "", err
	}
	if os.Getuid() == 0 {
		if err := s.giveTo("postgres"); err != nil {
			return s, "", err
		}
	}
	lines := append([]string{
		"[databases]", fmt.Sprintf("* = host=%s port=%s user=%s", server.Hostname(), server.Port(), server.User.Username()),
		"[pgbouncer]", "listen_addr=127.0.0.1", fmt.Sprintf("listen_port=%d", s.port), "unix_socket_dir=",
		"auth_type=any", "pool_mode=transaction", "ignore_startup_parameters=extra_float_digits",
	}, settings...)
	if err := os.WriteFile(s.file("pgbouncer.ini"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return s, "", err
	}
	err = s.start(ctx, program, s.file("pgbouncer.ini"))
	return s, "postgres://" + server.User.Username() + "@" + s.address() + server.Path + "?sslmode=disable", err
}
