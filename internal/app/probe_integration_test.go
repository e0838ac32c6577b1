//go:build integration

package app

import (
	"bytes"
	"context"
	"database/sql"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/testdb"
)

// probingPostgres is a service with a probe of the server, whose user has the password
// sesame, which is in a file.
func probingPostgres(t *testing.T, server *testdb.Server) (s config.Service, passwordFile string) {
	t.Helper()
	db, err := sql.Open("pgx", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		"CREATE ROLE canary LOGIN PASSWORD 'sesame'",
		"CREATE SCHEMA isowatch_probe AUTHORIZATION canary",
		"ALTER ROLE canary SET default_transaction_isolation = 'serializable'",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User("canary")
	p := config.NewProbe()
	p.URL, p.Source, p.Rate, p.Sessions = u.String(), "pg", 100, 4
	p.Password.File = filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(p.Password.File, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = liveService(t)
	s.Inputs = []config.Input{{Probe: &p}}
	return s, p.Password.File
}

// A server that is killed and started is told of, and worked on again, in the same epoch:
// what it had acknowledged has to be there. A healthy one gives no finding.
func TestProbePostgresGoesAndComes(t *testing.T) {
	server := testdb.StartPostgres(t)
	s, _ := probingPostgres(t, server)
	var log lockedBuffer
	sink := make(caught, 100)
	a := startLogged(t, s, &log, sink)
	eventually(t, "transactions are committed", func() bool { return committed(a, "pg") > 100 })
	if got := a.watchOf("pg").Expected(); got != "postgresql/serializable" {
		t.Errorf("expected %s, and the role's setting is serializable", got)
	}
	server.Kill(t)
	eventually(t, "it is away", func() bool { return probeState(a).Problem != "" })
	if metrics := get(t, a, "/metrics"); !strings.Contains(metrics, "\nisowatch_probe_success{source=\"pg\"} 0\n") {
		t.Error("the probe is said to succeed while the server is away")
	}
	get(t, a, "/-/ready") // it was met once
	before := committed(a, "pg")
	server.Restart(t)
	eventually(t, "it is back", func() bool { return probeState(a).Problem == "" && committed(a, "pg") > before+100 })
	stop(t, a)
	for text, n := range map[string]int{"a probe begins": 1, "does not answer": 1, "answers again": 1, "sesame": 0} {
		if got := strings.Count(log.String(), text); got != n {
			t.Errorf("%q is logged %d times, want %d:\n%s", text, got, n, log.String())
		}
	}
	if x := a.Status().Sources[0]; x.Counters.Gaps != 0 || x.Verdicts["strong-session-serializable"].Verdict == "violated" {
		t.Errorf("%d gaps, verdict %+v", x.Counters.Gaps, x.Verdicts["strong-session-serializable"])
	}
	for len(sink) > 0 {
		t.Errorf("a finding on a healthy database: %s", (<-sink).JSON)
	}
}

// A wrong password is told without it, and read again before each attempt.
func TestProbePostgresPassword(t *testing.T) {
	server := testdb.StartPostgres(t)
	s, file := probingPostgres(t, server)
	askForPasswords(t, server)
	if err := os.WriteFile(file, []byte("mellon"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	a := startLogged(t, s, &log, make(caught, 100))
	eventually(t, "it is told", func() bool { return strings.Contains(probeState(a).Problem, "password authentication failed") })
	text := log.String() + get(t, a, "/") + get(t, a, "/api/v1/status")
	if strings.Contains(text, "mellon") {
		t.Errorf("a password is shown:\n%s", text)
	}
	if err := os.WriteFile(file, []byte("sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other password is taken", func() bool { return committed(a, "pg") > 0 })
}

// askForPasswords lets the server ask every user but its own for one.
func askForPasswords(t *testing.T, server *testdb.Server) {
	t.Helper()
	db, err := sql.Open("pgx", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var file string
	if err := db.QueryRowContext(t.Context(), "SHOW hba_file").Scan(&file); err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append([]byte("host all canary all scram-sha-256\n"), bytes.TrimSpace(append(rules, '\n'))...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
}

// silence is a way to a server that can stop to pass anything on, with its connections open.
type silence struct {
	address string
	quiet   chan struct{} // closed: nothing passes any more
}

func silenced(t *testing.T, to string) *silence {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &silence{l.Addr().String(), make(chan struct{})}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				conn.Close()
				continue
			}
			go s.pass(conn, server)
			go s.pass(server, conn)
		}
	}()
	return s
}

func (s *silence) pass(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		select {
		case <-s.quiet:
			if err != nil {
				to.Close()
				return
			}
			continue // it is lost
		default:
		}
		if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
			to.Close()
			return
		}
	}
}

// A server of which nothing is heard any more, on connections that stay open, is away after
// the time-out of a statement; a stop does not wait for it longer than that takes.
func TestProbePostgresHangs(t *testing.T) {
	server := testdb.StartPostgres(t)
	s, _ := probingPostgres(t, server)
	p := s.Inputs[0].Probe
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	way := silenced(t, u.Host)
	u.Host = way.address
	p.URL = u.String()
	var log lockedBuffer
	a := startLogged(t, s, &log, make(caught, 100))
	eventually(t, "transactions are committed", func() bool { return committed(a, "pg") > 20 })
	close(way.quiet)
	eventually(t, "it is away", func() bool { return probeState(a).Problem != "" })
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := a.Stop(ctx); err != nil {
		t.Error(err)
	}
	t.Logf("stopped after %v", time.Since(began))
}
