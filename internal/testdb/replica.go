package testdb

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"
)

// replayPatience bounds how long the replica may take to pause; it looks for the request
// between two records.
const replayPatience = time.Minute

// Replica is a hot standby: it takes read-only transactions, and replays what its primary
// wrote some time later. Nothing waits for it.
type Replica struct{ Server }

// PostgresReplicated starts a server and an asynchronous replica of it, which end with
// the test. Settings are those of both.
func PostgresReplicated(t testing.TB, settings ...string) (*Server, *Replica) {
	t.Helper()
	primary := StartPostgres(t, settings...)
	replica := runPostgres(t, func(s *server) error {
		return s.prepare(t.Context(), s.postgres("pg_basebackup"), "-D", s.file("data"), "-h", "127.0.0.1", "-p", strconv.Itoa(primary.port),
			"-U", "postgres", "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast")
	}, settings)
	return primary, &Replica{*replica}
}

// Pause has the replica stay as it is: what it answers grows old.
func (r *Replica) Pause(t testing.TB) {
	t.Helper()
	if err := r.pause(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (r *Replica) pause(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, replayPatience)
	defer cancel()
	if err := r.psql(ctx, "SELECT pg_wal_replay_pause()"); err != nil {
		return err
	}
	for {
		err := r.psql(ctx, "SELECT 1/(pg_get_wal_replay_pause_state() = 'paused')::int")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the replica does not pause: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Resume has it replay on.
func (r *Replica) Resume(t testing.TB) {
	t.Helper()
	if err := r.psql(t.Context(), "SELECT pg_wal_replay_resume()"); err != nil {
		t.Fatal(err)
	}
}

// Promote makes the replica a primary of its own, which takes writes.
func (r *Replica) Promote(t testing.TB) {
	t.Helper()
	if err := r.psql(t.Context(), "SELECT 1/pg_promote(true, 60)::int"); err != nil {
		t.Fatal(err)
	}
}

// psql runs a statement.
func (s *server) psql(ctx context.Context, statement string) error {
	return s.prepare(ctx, s.postgres("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port),
		"-U", "postgres", "-c", statement)
}
