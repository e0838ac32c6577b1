//go:build integration

package guides

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/check"
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/testdb"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/target"
)

var (
	update = flag.Bool("update", false, "run the probe on all databases, and write the table of docs/databases.md")
	cell   = flag.Duration("cell", 3*time.Second, "with -update: how long each workload runs at each setting")
)

const databasesPage = "../../docs/databases.md"

// columns are the levels of the table, with session order.
var columns = []string{
	check.ReadUncommitted, check.ReadCommitted, check.MonotonicAtomicView, check.ReadAtomic, check.Causal, check.Prefix,
	check.SnapshotIsolation, check.Serializable,
}

// server is a database that can be started here.
type server struct {
	start    func(*testing.T) string // returns its URL
	settings []string                // in SQL's words
}

func servers() []server {
	mysql := func(t *testing.T) string { return mysqlURL(t, testdb.MySQL(t)) }
	mariadb := func(t *testing.T) string { return mysqlURL(t, testdb.MariaDB(t)) }
	return []server{
		{func(t *testing.T) string { return testdb.Postgres(t, "max_connections=100") }, []string{"read committed", "repeatable read", "serializable"}},
		{mysql, []string{"read uncommitted", "read committed", "repeatable read", "serializable"}},
		{mariadb, []string{"read uncommitted", "read committed", "repeatable read", "snapshot isolation", "serializable"}},
		{func(t *testing.T) string { return "sqlite:///" + filepath.Join(t.TempDir(), "probe.db") }, []string{""}},
	}
}

// mysqlURL is a data source name of the Go driver, user@tcp(host:port)/, as a URL with a database.
func mysqlURL(t *testing.T, name string) string {
	t.Helper()
	user, rest, ok := strings.Cut(name, "@tcp(")
	address, _, closed := strings.Cut(rest, ")")
	if !ok || !closed {
		t.Fatalf("%q is no data source name", name)
	}
	return "mysql://" + strings.TrimSuffix(user, ":") + "@" + address + "/"
}

// TestDatabases, with -update, writes the table: the probe's workloads on each database at each
// setting, judged at every level.
func TestDatabases(t *testing.T) {
	if !*update {
		t.Skip("writes the table of docs/databases.md: make databases runs it with -update, 5 minutes")
	}
	table := tableOf(t)
	page, err := os.ReadFile(databasesPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), beginTable)
	_, after, ended := strings.Cut(rest, endTable)
	if !found || !ended {
		t.Fatal("the page has no place for the table")
	}
	if err := os.WriteFile(databasesPage, []byte(before+beginTable+table+endTable+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tally counts the workloads by their verdicts.
type tally map[check.Verdict]int

// String is "-" where one is violated, "ok" where all are ok, else how many are.
func (n tally) String() string {
	switch all := n[check.OK] + n[check.Unknown]; {
	case n[check.Violated] > 0:
		return "-"
	case n[check.Unknown] == 0:
		return "ok"
	case n[check.OK] == 0:
		return "?"
	default:
		return fmt.Sprintf("ok %d/%d", n[check.OK], all)
	}
}

// row holds what was found at one setting.
type row struct {
	expect, version string
	transactions    int64
	verdicts        []tally  // by column
	anomalies       []string // their titles, those that are allowed too
}

func tableOf(t *testing.T) string {
	var b strings.Builder
	b.WriteString("\n| setting | version | transactions |")
	for _, c := range columns {
		b.WriteString(" " + c + " |")
	}
	b.WriteString(" found |\n|---|---|---|" + strings.Repeat("---|", len(columns)) + "---|\n")
	for _, s := range servers() {
		url := s.start(t)
		for _, setting := range s.settings {
			writeRow(&b, rowOf(t, url, setting))
		}
	}
	fmt.Fprintf(&b, "\nThe workloads %s, %v of each at each setting: eight sessions, up to 200 transactions a second.\n\n", strings.Join(workloads(), ", "), *cell)
	return b.String()
}

func writeRow(b *strings.Builder, r *row) {
	fmt.Fprintf(b, "| `%s` | %s | %d |", r.expect, r.version, r.transactions)
	for _, v := range r.verdicts {
		b.WriteString(" " + v.String() + " |")
	}
	found := "nothing"
	if len(r.anomalies) > 0 {
		found = strings.Join(r.anomalies, " · ")
	}
	b.WriteString(" " + found + " |\n")
}

func workloads() []string {
	var names []string
	for _, w := range probe.Workloads() {
		names = append(names, w.Name())
	}
	return names
}

func rowOf(t *testing.T, url, setting string) *row {
	r := &row{}
	for range columns {
		r.verdicts = append(r.verdicts, tally{})
	}
	for i, w := range probe.Workloads() {
		records := run(t, url, setting, fmt.Sprintf("e%d", i), w, r)
		levels := make([]string, len(columns))
		for i, c := range columns {
			levels[i] = check.StrongSession + c
		}
		result, err := check.History(records, check.Expect(r.expect), check.Levels(levels...), check.Contract("isolation=ignore"))
		if err != nil {
			t.Fatal(err)
		}
		r.transactions += result.Transactions
		for i, level := range levels {
			r.verdicts[i][result.Of(level)]++
		}
		for _, f := range result.Findings {
			if !slices.Contains(r.anomalies, f.Title) {
				r.anomalies = append(r.anomalies, f.Title)
			}
		}
		if result.Of(levels[0]) == "" {
			t.Errorf("%s: no verdict\n%s", w.Name(), result)
		}
	}
	slices.Sort(r.anomalies)
	return r
}

// run runs a workload in tables of its own, and returns what it recorded.
func run(t *testing.T, url, setting, epoch string, w *probe.Workload, r *row) []event.Record {
	ctx := context.Background()
	db, err := target.Open(ctx, url, target.Options{Epoch: epoch, Isolation: setting})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	r.expect, r.version = db.Expect(), db.Version
	o := probe.Options{Sessions: 8, Keys: 8, Rate: 200, Duration: *cell, Think: time.Millisecond, Seed: 1}
	first, err := probe.Fill(ctx, db, w, o)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	records := []event.Record{first}
	err = probe.Run(ctx, db, w, o, func(x event.Record) {
		mu.Lock()
		defer mu.Unlock()
		records = append(records, x)
	})
	if err != nil {
		t.Fatal(err)
	}
	return records
}
