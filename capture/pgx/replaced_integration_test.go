//go:build integration

package pgx_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/isowatch/isowatch/internal/testdb"
)

// told is a record.
type told struct {
	Status string
	Ops    []struct {
		Op, Key, Version string
		Prev             string `json:"prev_version"`
	}
}

// What a write says that it replaced, it replaced, at read committed too, where it may
// be newer than all that the transaction has read: no version is replaced twice, and each
// was written before.
func TestReplaced(t *testing.T) {
	pool, r, kept := openAt(t, testdb.Postgres(t))
	load(t, pool, r, pgx.ReadCommitted, onRows(&stock, deletes))
	pool.Close()
	type version struct{ key, text string }
	written, replaced := map[version]bool{}, map[version]bool{}
	var committed []told
	for _, line := range kept.Lines(t) {
		var r told
		must(t, json.Unmarshal(line, &r))
		if r.Status == "committed" {
			committed = append(committed, r)
		}
	}
	blind := 0
	for _, r := range committed {
		for _, o := range r.Ops {
			if o.Version != "" && o.Op != "r" {
				written[version{o.Key, o.Version}] = true
			}
			if o.Op == "w" && o.Prev == "" {
				blind++
			}
			if o.Prev == "" {
				continue
			}
			if v := (version{o.Key, o.Prev}); replaced[v] {
				t.Errorf("%v is replaced twice", v)
			} else {
				replaced[v] = true
			}
		}
	}
	for v := range replaced {
		if !written[v] {
			t.Errorf("%v was replaced, and never written", v)
		}
	}
	if len(replaced) < 50 || blind > len(replaced)/10 {
		t.Errorf("%d versions were replaced, and %d writes do not know what", len(replaced), blind)
	}
}
