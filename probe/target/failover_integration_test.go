//go:build integration

package target

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"maps"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/testdb"
	"github.com/isowatch/isowatch/probe"
)

// record runs the workload in the background until the test has seen enough.
type recorded struct {
	mu      sync.Mutex
	records []event.Record
	cancel  context.CancelFunc
	done    chan error
}

func record(t *testing.T, to *Target, o probe.Options) *recorded {
	t.Helper()
	w, err := probe.ByName("register")
	if err != nil {
		t.Fatal(err)
	}
	first, err := probe.Fill(t.Context(), to, w, o)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorded{records: []event.Record{first}, done: make(chan error, 1)}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(t.Context())
	go func() {
		r.done <- probe.Run(ctx, to, w, o, func(x event.Record) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.records = append(r.records, x)
		})
	}()
	return r
}

// await waits until n more records fit.
func (r *recorded) await(t *testing.T, n int, fits func(*event.Record) bool) {
	t.Helper()
	r.mu.Lock()
	at := len(r.records)
	r.mu.Unlock()
	for end := time.Now().Add(time.Minute); n > 0; {
		r.mu.Lock()
		for ; at < len(r.records); at++ {
			if fits(&r.records[at]) {
				n--
			}
		}
		r.mu.Unlock()
		if time.Now().After(end) {
			t.Fatalf("%d more records are waited for", n)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (r *recorded) end(t *testing.T) []event.Record {
	t.Helper()
	r.cancel()
	if err := <-r.done; err != nil {
		t.Fatal(err)
	}
	return r.records
}

func hostOf(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func writes(r *event.Record) bool {
	for i := range r.Ops {
		if r.Ops[i].Writes() {
			return true
		}
	}
	return false
}

// Sessions visit the primary and the replica in turn, the replica to read alone; each
// record names where it was; reads of a replica that is declared stale say so.
func TestReplica(t *testing.T) {
	primary, replica := testdb.PostgresReplicated(t)
	for _, stale := range []bool{false, true} {
		to, err := Open(t.Context(), primary.URL, Options{Epoch: "e1", Isolation: "serializable", Endpoints: []string{replica.URL}, Stale: stale})
		if err != nil {
			t.Fatal(err)
		}
		if got := to.Expect(); got != "postgresql/serializable-with-replicas" {
			t.Errorf("expects %q", got)
		}
		run := record(t, to, probe.Options{Sessions: 4, Keys: 6, Seed: 7})
		at := func(name string) func(*event.Record) bool {
			return func(r *event.Record) bool { return r.Labels["endpoint"] == name && r.Status == event.Committed }
		}
		run.await(t, 200, at(hostOf(t, replica.URL)))
		run.await(t, 200, at(hostOf(t, primary.URL)))
		records := run.end(t)
		for i := range records {
			r := &records[i]
			follows := r.Labels["endpoint"] == hostOf(t, replica.URL)
			if !follows && r.Labels["endpoint"] != hostOf(t, primary.URL) || follows && writes(r) || (r.Flags&event.Stale != 0) != (follows && stale) {
				t.Fatalf("%+v", r)
			}
		}
		if got := judge(t, records, "causal"); !maps.Equal(got, map[string]string{"causal": "ok"}) {
			t.Errorf("verdicts %v", got)
		}
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	}
	refused(t, replica.URL, Options{Epoch: "e1"}, "as a replica is: name its primary")
	refused(t, primary.URL, Options{Epoch: "e1", Endpoints: []string{"postgres://me:se%20cret@127.0.0.1:1/x"}},
		"the endpoint postgres://me:xxxxx@127.0.0.1:1/x: dial tcp 127.0.0.1:1: connect: connection refused")
}

// A server that is killed is waited for. What was under way is unknown or aborted, and the
// lock is taken again.
func TestKilledServer(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(t *testing.T) (*testdb.Server, string)
	}{
		{"postgresql", func(t *testing.T) (*testdb.Server, string) {
			s := testdb.StartPostgres(t)
			return s, s.URL
		}},
		{"mariadb", func(t *testing.T) (*testdb.Server, string) {
			s := testdb.StartMariaDB(t)
			config, err := mysql.ParseDSN(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			return s, "mysql://root@" + config.Addr + "/"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, url := c.start(t)
			to := open(t, url, "e1")
			run := record(t, to, probe.Options{Sessions: 4, Keys: 6, Seed: 7, Rate: 400})
			committed := func(r *event.Record) bool { return r.Status == event.Committed }
			run.await(t, 100, committed)
			server.Kill(t)
			server.Restart(t)
			run.await(t, 100, committed)
			records := run.end(t)
			for _, r := range records {
				if r.Status == event.Unknown && len(r.Ops) == 0 {
					t.Errorf("%+v", r)
				}
			}
			if got := judge(t, records, "read-committed"); !maps.Equal(got, map[string]string{"read-committed": "ok"}) {
				t.Errorf("verdicts %v", got)
			}
			awaitLock(t, c.name, server.URL)
			refused(t, url, Options{Epoch: "e2"}, "another probe is running")
			if err := to.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// When the primary is gone and the replica takes its place, the sessions write there, and go
// on visiting it alone. They do not wait for the one that is gone.
func TestFailover(t *testing.T) {
	primary, replica := testdb.PostgresReplicated(t)
	to, err := Open(t.Context(), primary.URL, Options{Epoch: "e1", Endpoints: []string{replica.URL}})
	if err != nil {
		t.Fatal(err)
	}
	run := record(t, to, probe.Options{Sessions: 4, Keys: 6, Seed: 7, Rate: 400})
	next := hostOf(t, replica.URL)
	wrote := func(there bool) func(*event.Record) bool {
		return func(r *event.Record) bool {
			return r.Status == event.Committed && writes(r) && (r.Labels["endpoint"] == next) == there
		}
	}
	run.await(t, 50, wrote(false))
	primary.Kill(t)
	replica.Promote(t)
	run.await(t, 100, wrote(true))
	run.end(t)
	if err := to.Close(); err == nil {
		t.Error("the tables of a primary that is gone were dropped, and nothing was said")
	}
}

// awaitLock waits until a probe has its lock again.
func awaitLock(t *testing.T, product, name string) {
	t.Helper()
	driver, ask := "pgx", "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
	if product == "mariadb" {
		h := fnv.New64a()
		h.Write([]byte("isowatch_probe"))
		driver, ask = "mysql", fmt.Sprintf("SELECT COUNT(IS_USED_LOCK('isowatch probe %x'))", h.Sum64())
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var n int
		if err := db.QueryRowContext(t.Context(), ask).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("nobody has the lock")
		}
	}
}
