package testdb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"testing"
)

// MariaDB starts a server that ends with the test, and returns the data source name of
// its root user, as the Go driver reads it. Options are such as "--max-connections=300".
func MariaDB(t testing.TB, options ...string) (name string) {
	t.Helper()
	return StartMariaDB(t, options...).URL
}

// StartMariaDB is [MariaDB] for a test that kills the server. What it loses then is
// "--innodb-flush-log-at-trx-commit=0": commits of the last second or two.
func StartMariaDB(t testing.TB, options ...string) *Server {
	t.Helper()
	s, name, err := startMariaDB(t.Context(), options)
	if s != nil {
		t.Cleanup(func() { s.stop(syscall.SIGTERM) })
	}
	must(t, err)
	return &Server{URL: name, server: s}
}

func startMariaDB(ctx context.Context, options []string) (*server, string, error) {
	install, err := mariadbProgram("mariadb-install-db")
	if err != nil {
		return nil, "", err
	}
	program, err := mariadbProgram("mariadbd")
	if err != nil {
		return nil, "", err
	}
	me, err := user.Current()
	if err != nil {
		return nil, "", err
	}
	s, err := newServer("mariadb")
	if err != nil {
		return nil, "", err
	}
	data := s.file("data")
	if err := s.prepare(ctx, install, "--no-defaults", "--user="+me.Username, "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return s, "", err
	}
	err = s.start(ctx, program, append([]string{
		"--no-defaults", "--user=" + me.Username, "--datadir=" + data, "--port=" + strconv.Itoa(s.port), "--bind-address=127.0.0.1",
		"--socket=" + s.file("socket"), "--pid-file=" + s.file("pid"), "--innodb-flush-log-at-trx-commit=0",
	}, options...)...)
	return s, "root@tcp(" + s.address() + ")/", err
}

// mariadbProgram looks in the path, and where programs of root are.
func mariadbProgram(name string) (string, error) {
	if program, err := exec.LookPath(name); err == nil {
		return program, nil
	}
	if program := "/usr/sbin/" + name; isFile(program) {
		return program, nil
	}
	return "", fmt.Errorf("MariaDB (%s): %w", name, errNoProgram)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
