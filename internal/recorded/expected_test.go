package recorded

import (
	"encoding/csv"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/window"
)

// folder is where the histories are, from this package.
const folder = "../../../shared/histories"

// expectation is the verdict on one level of one history. "" forbids "violated"
// only: the history cannot be checked by its values.
type expectation struct{ file, level, verdict string }

const (
	serializable = "serializable"
	snapshot     = "snapshot-isolation"
	session      = "strong-session-"
)

// expectations lists what is known, by folder.
func expectations(t *testing.T) map[string][]expectation {
	t.Helper()
	all := map[string][]expectation{}
	add := func(group, file, level, verdict string) {
		all[group] = append(all[group], expectation{file, level, verdict})
	}
	dbcopTable(t, add)
	grailTable(t, add)
	awdit(t, add)
	published(t, add)
	elleCLI(t, add)
	porcupine(t, add)
	return all
}

type adder func(group, file, level, verdict string)

// files are the histories below a folder that fit the pattern, by their name there.
func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	for i := range found {
		found[i], _ = filepath.Rel(folder, found[i])
	}
	slices.Sort(found)
	return found
}

// table reads a file of tab-separated values.
func table(t *testing.T, name string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(strings.NewReader(string(text)))
	r.Comma, r.FieldsPerRecord = '\t', -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%s: %d rows, %v", name, len(rows), err)
	}
	return rows
}

// ofField are our names of the levels that dbcop, AWDIT and Plume have.
var ofField = map[string]string{
	"read-committed": session + "monotonic-atomic-view", "read-atomic": session + "read-atomic",
	"causal": session + "causal", "snapshot-isolation": session + snapshot, "serializable": session + serializable,
}

func dbcopTable(t *testing.T, add adder) {
	rows := table(t, "dbcop/verdicts.tsv")
	for _, row := range rows[1:] {
		for i, name := range rows[0] {
			if level, ok := ofField[name]; ok {
				add("dbcop", "dbcop/"+row[0], level, row[i])
			}
		}
	}
}

// grailTable has Elle's levels, without sessions.
func grailTable(t *testing.T, add adder) {
	rows := table(t, "grail/verdicts.tsv")
	for _, row := range rows[1:] {
		for i, level := range rows[0][1:] {
			add("grail", "grail/"+row[0], level, row[i+1])
		}
	}
}

// awdit: the folder is the strongest level that holds.
func awdit(t *testing.T, add adder) {
	levels := []string{"read-committed", "read-atomic", "causal"}
	for _, pattern := range []string{"awdit/*/*.txt", "awdit/*/generated/*.txt"} {
		for _, file := range files(t, pattern) {
			strongest := slices.Index(levels, strings.Split(file, "/")[1])
			for i, level := range levels {
				verdict := window.OK
				if i > strongest {
					verdict = window.Violated
				}
				add("awdit", file, ofField[level], verdict)
			}
		}
	}
}

// published are the folders whose verdicts stand in the README there.
func published(t *testing.T, add adder) {
	both := func(group, file, family, si, ser string) {
		add(group, file, family+snapshot, si)
		add(group, file, family+serializable, ser)
	}
	const ok, violated = window.OK, window.Violated
	for _, file := range slices.Concat(files(t, "polysi-text/violations/*"), files(t, "polysi-text/mtc/*")) {
		si := violated
		if slices.Contains([]string{"pg_ser_bug.txt", "write-skew.txt"}, path.Base(file)) {
			si = ok
		}
		both("polysi-text", file, session, si, violated)
	}
	both("polysi-valid", "polysi-valid/general-rw-10k/history.bincode", session, ok, ok)
	both("polysi-valid", "polysi-valid/fig7-0.bincode", session, ok, violated)
	both("polysi-valid", "polysi-valid/fig7-1.bincode", session, ok, violated)
	both("cobra", "cobra/twitter-10000", "", ok, ok)
	both("cobra", "cobra/chengRW-500", "", ok, ok)
	both("cobra", "cobra/cock-G2", "", ok, violated)
	both("viper", "viper/blindw-rw-1000", "", ok, ok)
	add("timestamps", "timestamps/format-kv.json", snapshot, ok)
	for _, level := range []string{serializable, snapshot, session + serializable, session + snapshot} {
		add("duplicate-values", "duplicate-values/blind-1k.bincode", level, "")
	}
	add("elle", "elle/paper-example.edn", serializable, violated)
	both("elle", "elle/si-without-g-single.edn", "", ok, violated)
	both("elle", "elle/huge-scc.edn", "strong-", violated, violated)
	// Elle's tests say of si-without-g-single not repeatable-read, and of huge-scc not strong-snapshot-isolation,
	// and no more. The other example has a read skew.
	for _, file := range []string{"elle/paper-example.edn", "elle/si-without-g-single.edn"} {
		add("elle", file, "repeatable-read", violated)
		add("elle", file, "cursor-stability", ok)
	}
	add("elle", "elle/huge-scc.edn", "repeatable-read", ok)
	add("elle", "elle/huge-scc.edn", "strong-repeatable-read", violated)
	add("elle", "elle/huge-scc.edn", "strong-cursor-stability", ok)
}

// elleCLI: what is bad contradicts strict serializability at least, and what is good
// does not. Those that Elle or Knossos find by another level are listed with it.
func elleCLI(t *testing.T, add adder) {
	const strict = "strong-" + serializable
	bad := []string{
		"elle/paper-example.*", "elle/list-append-gh-30.edn", "elle/rw-register.*", "jepsen/set_full.*", "jepsen/bank-tidb.edn",
		"jepsen/bank-negative-balances.json", "jepsen/long-fork.edn",
	}
	good := []string{"jepsen/counter.*", "jepsen/set.edn", "jepsen/bank.edn", "jepsen/bank.json", "jepsen/bank-neg.edn"}
	for _, pattern := range bad {
		for _, file := range files(t, "elle-cli/"+pattern) {
			add("elle-cli", file, strict, window.Violated)
		}
	}
	for _, pattern := range []string{"elle/paper-example.*", "elle/list-append-gh-30.edn", "elle/rw-register.*"} {
		for _, file := range files(t, "elle-cli/"+pattern) {
			add("elle-cli", file, serializable, window.Violated)
		}
	}
	for _, pattern := range good {
		for _, file := range files(t, "elle-cli/"+pattern) {
			add("elle-cli", file, strict, window.OK)
		}
	}
	for verdict, pattern := range map[string]string{
		window.Violated: "elle-cli/knossos/*/bad/*", window.OK: "elle-cli/knossos/*/good/*",
	} {
		for _, file := range files(t, pattern) {
			add("elle-cli", file, "linearizable", verdict)
		}
	}
}

func porcupine(t *testing.T, add adder) {
	for _, row := range table(t, "porcupine/EXPECTED-linearizable.tsv") {
		verdict := window.Violated
		if row[1] == "true" {
			verdict = window.OK
		}
		add("porcupine/jepsen", "porcupine/jepsen/"+row[0], "linearizable", verdict)
	}
	for _, file := range files(t, "porcupine/kv/*") {
		verdict := window.Violated
		if strings.HasSuffix(file, "-ok.txt") {
			verdict = window.OK
		}
		add("porcupine/kv", file, "linearizable", verdict)
		if verdict == window.OK {
			add("porcupine/kv", file, "strong-"+serializable, "")
		}
	}
}
