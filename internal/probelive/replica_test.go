//go:build integration

package probelive

import (
	"testing"

	"github.com/isowatch/isowatch/internal/testdb"
)

// Reads of a replica that is behind are found out where one server is expected, and are
// what a primary with replicas promises.
func TestReplica(t *testing.T) {
	program := build(t)
	for _, c := range []struct {
		name   string
		flags  []string
		breaks bool
	}{
		{"as one server", []string{"--expect", "postgresql/repeatable-read"}, true},
		{"as what it is", []string{"--expect", "postgresql/repeatable-read-with-replicas"}, false},
	} {
		primary, replica := testdb.PostgresReplicated(t)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, program, append([]string{primary.URL, "--endpoint", replica.URL, "--isolation", "repeatable read",
				"--rate", "300", "--sessions", "4", "--keys", "8"}, c.flags...)...)
			r.awaitCommits(t, 200)
			replica.Pause(t)
			r.awaitCommits(t, 300)
			if c.breaks {
				r.await(patience)
			}
			replica.Resume(t)
			r.awaitCommits(t, 200)
			code := r.stop(t)
			t.Logf("%s\n%s", r.summary(), r.stderr.String())
			if c.breaks {
				r.violates(t, code)
				return
			}
			r.holds(t, code)
		})
	}
}
