package adya

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/check"
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
)

const (
	program   = "ISOWATCH_ADYA"
	count     = "ISOWATCH_ADYA_HISTORIES"
	histories = 1000 // of each kind of data
	published = "../../../shared/histories"
)

// levels are adya's names, and ours. adya knows the forms of these only.
var levels = [][2]string{
	{"read-uncommitted", "read-uncommitted"},
	{"read-committed", "read-committed"},
	{"cursor-stability", "cursor-stability"},
	{"monotonic-atomic-view", "monotonic-atomic-view"},
	{"read-atomic", "read-atomic"},
	{"causal-cerone", "causal"},
	{"prefix", "prefix"},
	{"repeatable-read", "repeatable-read"},
	{"consistent-view", "consistent-view"},
	{"parallel-snapshot-isolation", "consistent-view"},
	{"snapshot-isolation", "snapshot-isolation"},
	{"update-serializable", "update-serializable"},
	{"serializable", "serializable"},
	{"strong-session-read-uncommitted", "strong-session-read-uncommitted"},
	{"strong-session-read-committed", "strong-session-read-committed"},
	{"strong-session-snapshot-isolation", "strong-session-snapshot-isolation"},
	{"strong-session-serializable", "strong-session-serializable"},
	{"strong-read-uncommitted", "strong-read-uncommitted"},
	{"strong-read-committed", "strong-read-committed"},
	{"strong-snapshot-isolation", "strong-snapshot-isolation"},
	{"strict-serializable", "strong-serializable"},
}

// strictest is the level under which adya reports every anomaly that it finds.
const strictest = "strict-serializable"

// Exit codes of adya.
const (
	valid = iota
	invalid
	undecided
)

// verdict is adya's.
type verdict struct {
	code  int
	Types []string `json:"anomaly_types"`
}

// one is a history, judged by both.
type one struct {
	*data
	name    string
	file    string         // in Jepsen's format
	history oracle.History // nil: it is not one of ours
	here    *check.Result
	strict  verdict
}

func TestAdya(t *testing.T) {
	if os.Getenv(program) == "" {
		t.Skip(program + " does not name the program adya: make adya")
	}
	n := histories
	if text := os.Getenv(count); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for i := range kinds {
		d := &kinds[i]
		t.Run(d.model, func(t *testing.T) {
			sum := table{}
			for seed := range n {
				x := d.judge(t, uint64(seed))
				sum.add(t, x)
			}
			sum.show(t)
		})
	}
}

// TestPublished compares the verdicts on histories that Elle, elle-cli and GRAIL publish.
func TestPublished(t *testing.T) {
	if os.Getenv(program) == "" {
		t.Skip(program + " does not name the program adya: make adya")
	}
	for pattern, d := range map[string]*data{
		"elle-cli/elle/list-append-gh-30.edn": &kinds[0], "elle-cli/elle/paper-example.*": &kinds[0], "elle/*.edn": &kinds[0],
		"grail/list-append/*.edn": &kinds[0], "elle-cli/elle/rw-register.*": {model: "rw-register"},
	} {
		t.Run(strings.ReplaceAll(pattern, "/", " "), func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(published, pattern))
			if err != nil || len(files) == 0 {
				t.Skip("needs the published histories, which stand beside the checkout in ../shared")
			}
			sum := table{}
			for _, file := range files {
				x := &one{data: d, name: filepath.Base(file), file: file}
				if x.here, err = check.File(file, check.Levels("all")); err != nil {
					t.Fatal(err)
				}
				if x.strict = d.adya(t, strictest, file); x.strict.code > undecided {
					t.Logf("%s: adya does not read it", x.name)
					continue
				}
				sum.add(t, x)
			}
			sum.show(t)
		})
	}
}

func (d *data) judge(t *testing.T, seed uint64) *one {
	x := &one{data: d, name: fmt.Sprint(d.model, " ", seed), history: d.random(seed)}
	var err error
	x.here, err = check.Reader(strings.NewReader(x.history.JSONL()), check.Levels("all"))
	if err != nil {
		t.Fatal(err)
	}
	x.file = written(t, x.history)
	x.strict = x.adya(t, strictest, x.file)
	return x
}

// written is a file with the history.
func written(t *testing.T, h oracle.History) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "history.json")
	if err := os.WriteFile(file, jepsen(h), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// adya is its verdict on a level.
func (d *data) adya(t *testing.T, level, file string) verdict {
	t.Helper()
	args := append([]string{"check", "--json", "-m", d.model, "-c", level}, d.flags...)
	out, err := exec.Command(os.Getenv(program), append(args, file)...).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	v := verdict{}
	if exit != nil {
		v.code = exit.ExitCode()
	}
	if err := json.Unmarshal(out, &v); err != nil && v.code <= undecided {
		t.Fatalf("adya says %q: %v", out, err)
	}
	return v
}

// reason is why a cell differs; "" where it does not. docs/compared.md explains each.
type reason string

const (
	same reason = ""
	// noDependencies: adya says unknown, since no transaction depends on another one.
	noDependencies reason = "no dependencies"
	// open: a read is wrong in a way that the level allows, and we conclude nothing from it. Or the
	// appends that nobody read may have no order at the level.
	open reason = "open here"
	// row: adya finds an anomaly that refutes the level, and reports it only at stronger ones.
	row reason = "stronger level"
	// again: a transaction reads a key behind its own write, or a second time. adya takes what it shows
	// for a version of the key like any other. Without such reads it finds nothing.
	again reason = "read again"
	// aborted: a list holds an element twice that was rolled back. Here that is an aborted read only.
	aborted reason = "aborted twice"
	// unchecked: adya finds no such anomaly at any level: see hasNoCheck.
	unchecked reason = "no check"
	// unordered: adya finds fewer orders of the writers of registers, and looks for no order of appends
	// that nobody read.
	unordered reason = "fewer orders"
)

// compare gives the reason why the verdicts on a level differ, and fails where there is none, or where
// the oracle does not confirm ours.
func (x *one) compare(t *testing.T, theirs, ours string) reason {
	t.Helper()
	here, there := x.here.Of(ours), x.adya(t, theirs, x.file)
	if here == check.OK && there.code == valid || here == check.Violated && there.code == invalid {
		return same
	}
	why := x.why(t, here, there, theirs, ours)
	if why == same {
		t.Errorf("%s, %s: %s here, and adya exits with %d %q; at its strictest level %q: no reason is known\n%s",
			x.name, theirs, here, there.code, there.Types, x.strict.Types, x.history.Text())
	}
	if fault := x.refuted(here, oracle.Level(ours)); fault != "" {
		t.Errorf("%s, %s: %s here, and %s\n%s", x.name, theirs, here, fault, x.history.Text())
	}
	return why
}

func (x *one) why(t *testing.T, here check.Verdict, there verdict, theirs, ours string) reason {
	t.Helper()
	level, err := isolation.ParseLevel(ours)
	if err != nil {
		t.Fatal(err)
	}
	refutes := func(anomaly string) bool { return level.Forbids(anomaly) != isolation.Allowed }
	switch {
	case here == check.Unknown && x.leftOpen(ours):
		return open
	case there.code == undecided && slices.Equal(there.Types, []string{"empty-transaction-graph"}):
		return noDependencies
	case here == check.Violated && there.code == valid && slices.ContainsFunc(x.strict.Types, refutes):
		return row
	case here == check.Violated && there.code == valid && x.hasNoCheck(ours):
		return unchecked
	case here == check.Violated && there.code == valid && (!x.lists || someUnread(x.history)):
		return unordered
	case x.history == nil:
		return same
	case here == check.OK && there.code == invalid && x.adya(t, theirs, written(t, onceEach(x.history))).code != invalid:
		return again
	case here == check.OK && there.code == invalid && duplicatesOf(x.history, event.Aborted) && !duplicatesOf(x.history, event.Committed):
		return aborted
	}
	return same
}

// refuting are the anomalies of the findings that refute the level.
func (x *one) refuting(level string) []string {
	var names []string
	for i := range x.here.Findings {
		f := &x.here.Findings[i]
		if (slices.Contains(f.Refutes, level) || slices.Contains(f.AlsoRefutes, level)) && !slices.Contains(names, f.Anomaly) {
			names = append(names, f.Anomaly)
		}
	}
	slices.Sort(names)
	return names
}

// hasNoCheck says whether adya does not look for what refutes the level: values that nobody wrote,
// reads of an own later write, and appends of one transaction that a read shows in another order. It
// also looks no further in a transaction with an internal fault.
func (x *one) hasNoCheck(level string) bool {
	return x.lists && slices.Contains(x.strict.Types, "internal") || !slices.ContainsFunc(x.refuting(level), func(anomaly string) bool {
		return !slices.Contains([]string{"garbage-read", "future-read", "incompatible-order"}, anomaly)
	})
}

// leftOpen says whether the level is open after a wrong read that it allows, or for the order of appends
// that nobody read.
func (x *one) leftOpen(level string) bool {
	return slices.ContainsFunc(x.here.Levels, func(l check.Level) bool {
		return l.Name == level && slices.ContainsFunc([]string{"wrong read", "reads contradict each other", "appends that nobody read"}, func(cause string) bool { return strings.Contains(l.Reason, cause) })
	})
}

// refuted says how the oracle contradicts the verdict on the level, "" if it does not. It tries all
// orders of the transactions.
func (x *one) refuted(here check.Verdict, l oracle.Level) string {
	if x.history == nil {
		return ""
	}
	possible := oracle.Possible
	if slices.Contains(oracle.SaturatedLevels(), l) {
		possible = oracle.PossibleSaturated
	}
	found, err := possible(x.history, l)
	v := oracle.Check(x.history)
	switch {
	case err != nil:
		return err.Error()
	case here == check.OK && (v.Violated[l] || !found && !pl1(l)):
		return "no order of the transactions explains it"
	case here == check.Violated && !v.Violated[l] && found && !readsAgain(x.history):
		return "some order of the transactions explains it"
	}
	return ""
}

// pl1 says whether the level allows all reads. The trial of orders asks for more where a value is
// not of a committed transaction. The graph has all that such a level forbids: cycles of writes.
func pl1(l oracle.Level) bool { return strings.HasSuffix(string(l), "read-uncommitted") }

// readsAgain says whether a transaction reads a key a second time, or behind a write of it. At weak
// levels the trial of orders does not look at such reads.
func readsAgain(h oracle.History) bool {
	for i := range h {
		met := map[string]bool{}
		for j := range h[i].Ops {
			o := &h[i].Ops[j]
			if o.Kind == event.Read && met[o.Key] {
				return true
			}
			met[o.Key] = true
		}
	}
	return false
}

// table counts the cells of a level by reason.
type table map[string]map[reason]int

func (sum table) add(t *testing.T, x *one) {
	for _, l := range levels {
		if x.here.Of(l[1]) == "" {
			continue // without times it is not judged here
		}
		if sum[l[0]] == nil {
			sum[l[0]] = map[reason]int{}
		}
		sum[l[0]][x.compare(t, l[0], l[1])]++
	}
}

// show prints the table of docs/compared.md.
func (sum table) show(t *testing.T) {
	all := map[reason]int{}
	for _, cells := range sum {
		for r, n := range cells {
			all[r] += n
		}
	}
	columns := slices.Sorted(maps.Keys(all))
	text := ""
	line := func(name string, cells map[reason]int) {
		n := 0
		for _, k := range cells {
			n += k
		}
		text += fmt.Sprintf("| %s | %d |", name, n)
		for _, r := range columns {
			text += fmt.Sprintf(" %d |", cells[r])
		}
		text += "\n"
	}
	for _, l := range levels {
		line("`"+l[0]+"`", sum[l[0]])
	}
	line("all", all)
	head := "| level | cells |"
	for _, r := range columns {
		head += " " + cmp.Or(string(r), "agree") + " |"
	}
	t.Logf("\n%s\n|%s\n%s", head, strings.Repeat("---|", 2+len(columns)), text)
}
