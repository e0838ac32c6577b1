package check_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/check"
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/internal/workload"
)

// recordsOf are the records of a history in the order in which it is read, and what its
// format says of the capture.
func recordsOf(t *testing.T, name string, in io.Reader) (records []event.Record, contract string) {
	t.Helper()
	r, err := whole.OpenRecording(name, in, "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var decoder event.Decoder
	b := event.Batch{Partitions: []string{"x"}}
	take := func(said string) error {
		contract = said
		for i := range b.Txns {
			records = append(records, b.Record(&b.Txns[i]))
		}
		names := append([]string{}, b.Partitions...)
		b.Reset()
		b.Partitions = append(b.Partitions, names...)
		return nil
	}
	if err := r.Read(&decoder, &b, take); err != nil {
		t.Fatal(err)
	}
	if err := take(contract); err != nil {
		t.Fatal(err)
	}
	return records, contract
}

// verdicts are those of a result by level, with reasons.
func verdicts(r *check.Result) map[string]string {
	all := map[string]string{}
	for _, l := range r.Levels {
		all[l.Name] = strings.TrimSpace(string(l.Verdict) + " " + l.Reason)
	}
	return all
}

// command gives the verdicts of monitor check --levels all.
func command(t *testing.T, name string, in io.Reader) map[string]string {
	t.Helper()
	w := whole.Whole{Watch: config.DefaultWatch(config.WholeContract()), Stdin: in}
	w.Watch.Levels = isolation.Encoded()
	r, err := w.CheckFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for level, v := range r.Verdicts {
		all[level] = strings.TrimSpace(v + " " + r.Reasons[level])
	}
	return all
}

// Random histories of all kinds: records, text and the command give the same verdicts.
func TestRandomAsCommand(t *testing.T) {
	count := map[check.Verdict]int{}
	for i := range testrun.Count(300) {
		rng := rand.New(rand.NewPCG(uint64(i), 23))
		opt := oracle.Options{
			Min: 3, Max: 4 + rng.IntN(20), Keys: 1 + rng.IntN(6), Sessions: rng.IntN(4), Registers: rng.IntN(2) == 0,
			Aborted: 0.05, Unknown: 0.05, Blind: rng.Float64(), Corrupt: 0.2,
		}
		var text []byte
		for _, txn := range oracle.Random(rng, opt) {
			text = append(workload.AppendJSON(text, &txn), '\n')
		}
		want := command(t, "-", bytes.NewReader(text))
		records, _ := recordsOf(t, "-", bytes.NewReader(text))
		fromRecords, err := check.History(records, check.Levels("all"))
		if err != nil {
			t.Fatal(err)
		}
		fromText, err := check.Reader(bytes.NewReader(text), check.Levels("all"))
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []*check.Result{fromRecords, fromText} {
			if !reflect.DeepEqual(verdicts(got), want) {
				t.Fatalf("history %d: %v, the command says %v\n%s", i, verdicts(got), want, text)
			}
			for _, l := range got.Levels {
				count[l.Verdict]++
			}
		}
	}
	if min(count[check.OK], count[check.Violated], count[check.Unknown]) < testrun.Least(100) {
		t.Errorf("too few of one verdict: %v", count)
	}
}

// Recorded histories of all formats: files and their records give the verdicts of the command.
func TestRecordedAsCommand(t *testing.T) {
	const folder = "../../shared/histories"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("needs the recorded histories, which stand beside the checkout in ../shared: %v", err)
	}
	n := 0
	for _, pattern := range []string{
		"dbcop/cockroachdb-00*.bincode", "elle/paper-example.edn", "elle-cli/elle/rw-register.*", "elle-cli/jepsen/*.edn",
		"polysi-text/violations/*", "awdit/*/*.txt", "timestamps/format-kv.json",
	} {
		files, _ := filepath.Glob(filepath.Join(folder, pattern))
		if len(files) == 0 {
			t.Errorf("%s: no files", pattern)
		}
		step := max(len(files)/testrun.Count(len(files)), 1)
		if testrun.Short() { // the smallest of each kind, or of both
			most := 1
			if strings.HasSuffix(pattern, ".*") {
				most = 2
			}
			slices.SortStableFunc(files, bySize(t))
			files, step = files[:min(most, len(files))], 1
		}
		for i, file := range files {
			if i%step > 0 {
				continue
			}
			want := command(t, file, nil)
			fromFile, err := check.File(file, check.Levels("all"))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			records, contract := recordsOf(t, file, nil)
			options := []check.Option{check.Levels("all")}
			if contract != "" {
				options = append(options, check.Contract(contract))
			}
			fromRecords, err := check.History(records, options...)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if got := verdicts(fromFile); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, the command says %v", file, got, want)
			}
			if got := verdicts(fromRecords); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: its records give %v, the command says %v", file, got, want)
			}
			n++
		}
	}
	t.Logf("%d histories", n)
}

// bySize compares the sizes of two files.
func bySize(t *testing.T) func(a, b string) int {
	size := func(name string) int64 {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	return func(a, b string) int { return cmp.Compare(size(a), size(b)) }
}

// skew is write skew; in less one transaction asked for read committed.
const (
	skew = `{"txn":"T1","session":"a","seq":1,"status":"committed","ops":[{"op":"r","key":"x","value":null},{"op":"w","key":"y","value":1}]}
{"txn":"T2","session":"b","seq":1,"status":"committed","ops":[{"op":"r","key":"y","value":null},{"op":"w","key":"x","value":2}]}
`
	less = `{"txn":"T1","isolation":"READ COMMITTED","status":"committed","ops":[{"op":"r","key":"x","value":null},{"op":"w","key":"y","value":1}]}
{"txn":"T2","status":"committed","ops":[{"op":"r","key":"y","value":null},{"op":"w","key":"x","value":2}]}
`
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name    string
		text    string
		options []check.Option
		levels  string // that were judged
		verdict check.Verdict
	}{
		{"default", skew, nil, "snapshot-isolation strong-session-snapshot-isolation serializable strong-session-serializable", check.Violated},
		{"levels", skew, []check.Option{check.Levels(check.Prefix, check.Serializable)}, "prefix serializable", check.Violated},
		{"expect", skew, []check.Option{check.Expect("mysql/read-committed")}, "strong-session-read-committed", check.OK},
		{"expect, and asked for less", less, []check.Option{check.Expect(check.Serializable)}, "serializable", check.Unknown},
		{"expect, and none may ask for less", less, []check.Option{check.Expect(check.Serializable), check.Contract("isolation=ignore")}, "serializable", check.Violated},
		{"expect among levels", skew, []check.Option{check.Expect(check.ReadCommitted), check.Levels(check.Serializable)}, "read-committed serializable", check.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := check.Reader(strings.NewReader(c.text), c.options...)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, l := range r.Levels {
				names = append(names, l.Name)
			}
			if got := strings.Join(names, " "); got != c.levels || r.Verdict() != c.verdict {
				t.Errorf("%s of %s, want %s of %s\n%s", r.Verdict(), got, c.verdict, c.levels, r)
			}
			if r.Of("no-such-level") != "" || r.Of(names[0]) != r.Levels[0].Verdict {
				t.Error("Of does not say what Levels does")
			}
		})
	}
}

// Where no transaction asked for less, PostgreSQL's serializable is the level by itself: also
// what is decided by trying orders, as reads that found nothing and counters.
func TestTrackedAsLevel(t *testing.T) {
	count := map[check.Verdict]int{}
	for i := range 400 {
		rng := rand.New(rand.NewPCG(uint64(i), 29))
		var text []byte
		for _, txn := range oracle.RandomKinds(rng, oracle.Kinds{Deletes: true, Counters: i%2 == 0, Corrupt: 0.2}) {
			text = append(workload.AppendJSON(text, &txn), '\n')
		}
		var results []*check.Result
		for _, expect := range []string{"postgresql/serializable", check.StrongSession + check.Serializable} {
			r, err := check.Reader(bytes.NewReader(text), check.Expect(expect), check.Levels("all"))
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, r)
		}
		if tracked, plain := verdicts(results[0]), verdicts(results[1]); !reflect.DeepEqual(tracked, plain) {
			t.Fatalf("history %d: %v, as a level %v\n%s", i, tracked, plain, text)
		}
		count[results[0].Of(check.Serializable)]++
	}
	if count[check.OK] < 100 || count[check.Violated] < 50 {
		t.Errorf("too few of one verdict: %v", count)
	}
}

func TestLevelNames(t *testing.T) {
	for _, name := range []string{
		check.ReadUncommitted, check.ReadCommitted, check.MonotonicAtomicView, check.ReadAtomic, check.Causal, check.Prefix,
		check.SnapshotIsolation, check.Serializable, check.StrictSerializable, check.Linearizable,
		check.StrongSession + check.Causal, check.Strong + check.Prefix,
	} {
		if _, err := isolation.ParseLevel(name); err != nil {
			t.Error(err)
		}
	}
}

func TestErrors(t *testing.T) {
	committed := event.Record{ID: "1", Status: event.Committed}
	for _, c := range []struct {
		name string
		run  func() (*check.Result, error)
		want string
	}{
		{"a level", func() (*check.Result, error) { return check.History(nil, check.Levels("no-such-level")) }, `no isolation level is called "no-such-level"`},
		{"a product", func() (*check.Result, error) { return check.History(nil, check.Expect("teradata/serializable")) }, `no product is called "teradata"`},
		{"a contract", func() (*check.Result, error) { return check.History(nil, check.Contract("capture=some")) }, "capture"},
		{"two at once", func() (*check.Result, error) { return check.History(nil, check.Levels("x"), check.Expect("y")) }, `called "y"`},
		{"a record", func() (*check.Result, error) { return check.History([]event.Record{committed, {ID: "2"}}) }, "check: records:2: "},
		{"a value", func() (*check.Result, error) {
			r := committed
			r.Ops = []event.RecordOp{{Kind: event.Write, Key: "x", Value: "plain text"}}
			return check.History([]event.Record{r})
		}, "check: records:1: ops[0]: plain text is not JSON: put a text in quotes"},
		{"a value that ends its operation", func() (*check.Result, error) {
			r := committed
			r.Ops = []event.RecordOp{{Kind: event.Write, Key: "x", Value: "1},{}"}}
			return check.History([]event.Record{r})
		}, "check: records:1: ops[0]: 1},{} is not JSON"},
		{"a reader", func() (*check.Result, error) { return check.Reader(broken{}) }, "check: broken"},
		{"no history", func() (*check.Result, error) { return check.Reader(strings.NewReader("hello\n")) }, "no line of it is a record"},
		{"no file", func() (*check.Result, error) { return check.File("no-such-file") }, "no-such-file"},
	} {
		r, err := c.run()
		if err == nil || r != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, want an error with %q", c.name, r, err, c.want)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("broken") }

// Bad records of a text are told, and the verdict is not ok.
func TestBadRecords(t *testing.T) {
	r, err := check.Reader(strings.NewReader(`{"txn":"1","status":"committed","ops":[]}`+"\n"+`{"txn":"2"}`), check.Levels(check.Serializable))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Bad) != 1 || r.Bad[0].Position != "reader:2" || r.Verdict() != check.Unknown || r.Levels[0].Reason == "" {
		t.Errorf("%+v", r)
	}
	if text := r.String(); !strings.Contains(text, "bad record at reader:2: ") {
		t.Error(text)
	}
}

// Nothing stays behind: no goroutine, and the collector is set as before.
func TestLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	if _, err := check.Reader(strings.NewReader(skew), check.Levels("all")); err != nil {
		t.Fatal(err)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
	r, err := check.History(nil)
	if err != nil || r.Verdict() != check.OK || r.Transactions != 0 {
		t.Errorf("an empty history: %v, %v", r, err)
	}
}

// A finding's text is part of the result's.
func TestText(t *testing.T) {
	r, err := check.Reader(strings.NewReader(skew), check.Levels(check.Serializable))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) == 0 || !strings.Contains(r.String(), check.Text(&r.Findings[0])) || !strings.Contains(check.Text(&r.Findings[0]), "write skew") {
		t.Errorf("%v", r)
	}
}

// Who lost an update is told with what each had read, which is not always the same.
func TestLostUpdateText(t *testing.T) {
	const history = `{"txn":"A","status":"committed","ops":[{"op":"r","key":"x","value":9,"version":"1"},{"op":"w","key":"x","value":8,"version":"2","prev_version":"1"}]}
{"txn":"B","status":"committed","ops":[{"op":"r","key":"x","value":8,"version":"2"},{"op":"w","key":"x","value":7,"version":"3","prev_version":"2"}]}
{"txn":"C","status":"committed","ops":[{"op":"r","key":"x","value":9,"version":"1"},{"op":"w","key":"x","value":8,"version":"4","prev_version":"3"}]}
`
	const both = `{"txn":"A","status":"committed","ops":[{"op":"r","key":"x","value":9,"version":"1"},{"op":"w","key":"x","value":8,"version":"2"}]}
{"txn":"B","status":"committed","ops":[{"op":"r","key":"x","value":9,"version":"1"},{"op":"w","key":"x","value":7,"version":"3"}]}
`
	for _, c := range []struct{ history, want string }{
		{history, "C updated x from 9 (version 1), and overwrote 7 (version 3), which B had written since; that update was lost."},
		{strings.Replace(history, `"version":"2"}`, `"version":"1"}`, 1), "B updated x from 8 (version 1), and overwrote 8 (version 2), which A had written since; that update was lost."},
		{both, " both updated x from 9 (version 1); one update was lost."},
	} {
		r, err := check.Reader(strings.NewReader(c.history), check.Contract("start=existing"), check.Expect(check.SnapshotIsolation))
		if err != nil || !strings.Contains(r.String(), c.want) {
			t.Errorf("want %q: %v\n%s", c.want, err, r)
		}
	}
}

// A value that nobody wrote may have been written in another spelling. The finding says which.
func TestOtherSpelling(t *testing.T) {
	for _, c := range []struct{ written, read, want string }{
		{"1.5", "1.50", "T3 read 1.50 of x, which no transaction wrote: 1.5 was written, which is the same in another spelling."},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, `which no transaction wrote: {"a":1,"b":2} was written, which is the same in another spelling.`},
		{"1.5", "1.51", "T3 read 1.51 of x, which no transaction wrote."},
	} {
		r, err := check.Reader(strings.NewReader(`{"txn":"T1","status":"committed","ops":[{"op":"w","key":"x","value":7}]}
{"txn":"T2","status":"committed","ops":[{"op":"r","key":"x","value":7},{"op":"w","key":"x","value":`+c.written+`}]}
{"txn":"T3","status":"committed","ops":[{"op":"r","key":"x","value":`+c.read+`}]}
`), check.Expect(check.Serializable))
		if err != nil || !strings.Contains(r.String(), c.want) {
			t.Errorf("want %q: %v\n%s", c.want, err, r)
		}
	}
}

// What is given counts without its flag: the session's order, time, and the bounds of a range.
func TestFieldsCount(t *testing.T) {
	write := event.RecordOp{Kind: event.Write, Key: "x", Value: "1"}
	nothing := event.RecordOp{Kind: event.Read, Key: "x", Flags: event.NotFound}
	for _, c := range []struct {
		name, level  string
		first, later event.Record
		want         check.Verdict
	}{
		{"seq", check.StrongSession + check.Serializable, event.Record{Session: "s", Seq: 1, Ops: []event.RecordOp{write}},
			event.Record{Session: "s", Seq: 2, Ops: []event.RecordOp{nothing}}, check.Violated},
		{"seq, the other way", check.StrongSession + check.Serializable, event.Record{Session: "s", Seq: 2, Ops: []event.RecordOp{write}},
			event.Record{Session: "s", Seq: 1, Ops: []event.RecordOp{nothing}}, check.OK},
		{"times", check.StrictSerializable, event.Record{Start: 0, End: 5, Ops: []event.RecordOp{write}},
			event.Record{Start: 6, End: 7, Ops: []event.RecordOp{nothing}}, check.Violated},
		{"bounds", check.StrictSerializable, event.Record{Start: 1, End: 5, Ops: []event.RecordOp{write}},
			event.Record{Start: 6, End: 7, Ops: []event.RecordOp{{Kind: event.Range, From: "y", To: "z"}}}, check.OK},
	} {
		c.first.ID, c.later.ID, c.first.Status, c.later.Status = "first", "later", event.Committed, event.Committed
		r, err := check.History([]event.Record{c.first, c.later}, check.Levels(c.level))
		if err != nil || r.Verdict() != c.want {
			t.Errorf("%s: %v, want %s\n%s", c.name, err, c.want, r)
		}
		if c.later.Ops[0].HasFrom {
			t.Error("the caller's record was changed")
		}
	}
}
