package history

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// told writes records with their times, one a line, and dead letters behind them.
func told(t *testing.T, f Format, text string) (string, error) {
	t.Helper()
	b := &event.Batch{Partitions: []string{"file:x"}}
	r := Reader{Batch: b, Flush: func() error { return nil }}
	err := r.Read(f, strings.NewReader(text))
	var out strings.Builder
	for i, rec := range recordsOf(t, b) {
		fmt.Fprintf(&out, "%s %s", rec.ID, rec.Status)
		if rec.Session != "" {
			fmt.Fprintf(&out, " %s/%d", rec.Session, rec.Seq)
		}
		if rec.Flags&event.HasTimes != 0 {
			fmt.Fprintf(&out, " %d-%d", rec.Start, rec.End)
		}
		if rec.Flags&event.HasCommitTS != 0 {
			fmt.Fprintf(&out, " ts %d-%d", rec.StartTS, rec.CommitTS)
		}
		for _, o := range rec.Ops {
			fmt.Fprintf(&out, " %s(%s", o.Kind, o.Key)
			if o.Data != event.AnyKind {
				fmt.Fprintf(&out, " %s", o.Data)
			}
			if o.Kind == event.CAS {
				fmt.Fprintf(&out, " %s", o.Expected)
			}
			if o.Flags&event.NotFound == 0 {
				fmt.Fprintf(&out, " %s", o.Value)
			}
			if o.Kind == event.CAS && o.Flags&event.Success == 0 {
				out.WriteString(" refused")
			}
			out.WriteString(")")
		}
		fmt.Fprintf(&out, " line %d\n", b.Txns[i].Pos.Offset)
	}
	for i := range b.Bad {
		fmt.Fprintf(&out, "bad: %s\n", b.Bad[i].Reason)
	}
	if r.Contract != "" {
		fmt.Fprintf(&out, "contract %s\n", r.Contract)
	}
	return strings.TrimSpace(out.String()), err
}

// The same small history in the forms that occur: a stream, a vector with commas, a
// list, with comments, tags, discarded values, without commas, and as JSON.
func TestElleForms(t *testing.T) {
	t.Parallel()
	const want = `T0 committed 0/0 12-14 append(x 1) r(x [1]) line 3
T1 unknown 1/0 13-15 append(x 2) line 4`
	for name, c := range map[string]struct {
		format Format
		text   string
	}{
		"stream": {EDN, `{:type :invoke, :process 0, :f :txn, :value [[:append :x 1] [:r :x nil]], :time 12, :index 0}
{:type :invoke, :process 1, :f :txn, :value [[:append :x 2] [:r :x]], :time 13, :index 1}
{:type :ok, :process 0, :f :txn, :value [[:append :x 1] [:r :x [1]]], :time 14, :index 2}
{:type :info, :process 1, :f :txn, :value [[:append :x 2] [:r :x nil]], :time 15, :index 3, :error [:timeout "no } answer"]}
`},
		"vector": {EDN, `[#jepsen.history.Op{:type :invoke :process 0 :value [[ :append "x" 1] [:r "x" nil] ] :time 12 :index 0}, #_{:type :bogus}
{:type :invoke, :process 1, :value ((:append "x", 2) (:r "x")), :time 13, :index 1},
{:type :ok :process 0 :value [[:append "x" 1] [:r "x" (1)]] :time 14N :index 2},
{:type :info :process 1 :value nil :time 15 :index 3}] ; the end`},
		"list": {EDN, `({:type :invoke :process 0 :value [[:append x 1]
 [:r x nil]] :time 12 :index 0} {:type :invoke :process 1 :value [[:append x 2]] :time 13 :index 1} {:type :info :process :nemesis :f :kill :value [:a #{1}] :index 9}
{:type :ok :process 0 :value [[:append x 1] [:r x [1]]] :time 14 :index 2}
{:type :info :process 1 :value [[:append x 2] [:r x nil]] :time 15 :index 3})`},
		"json": {ElleJSON, `[{"type":"invoke","process":0,"f":"txn","value":[["append","x",1],["r","x",null]],"time":12,"index":0},
{"type":"invoke","process":1,"value":[["append","x",2],["r","x"]],"time":13,"index":1},
{"type":"ok","process":0,"value":[["append","x",1],["r","\u0078",[1]]],"time":14,"index":2},
{"type":"info","process":1,"value":null,"time":15,"index":3}]`},
	} {
		got, err := told(t, c.format, c.text)
		if err != nil || got != want {
			t.Errorf("%s: %v, read:\n%s\nwant:\n%s", name, err, got, want)
		}
		if f := Detect([]byte(c.text)); f != c.format {
			t.Errorf("%s: recognised as %s", name, f)
		}
	}
}

func TestElle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"times grow, without and against :time", `
{:type :invoke :process 0 :value [[:w 1 1]]}
{:type :ok :process 0 :value [[:w 1 1]] :time 100}
{:type :invoke :process 0 :value [[:r 1 nil]] :time 90}
{:type :ok :process 0 :value [[:r 1 1]] :time 90}`, `
T0 committed 0/0 11-100 w(1 1) line 3
T2 committed 0/1 101-102 r(1 1) line 5`},
		{"no process: no session; what nobody completed comes last", `
{:index 4 :type :invoke :value [[:w 1 1]]}
{:index 5 :type :ok :value [[:w 1 1]]}
{:index 6 :type :invoke :value [[:w 1 2] [:r 2 nil]]}`, `
T4 committed 11-12 w(1 1) line 3
T6 unknown 13-14 w(1 2) line 4`},
		{"a completion without an invocation has no times; an index that comes again", `
{:type :ok :process 3 :index 7 :value [[:r x nil] [:r y #{2 1}]]}
{:type :fail :process 3 :index 7 :value [[:w x 1]] :error :conflict}`, `
T7 committed 3/0 r(x) r(y set [2,1]) line 2
T7@1 aborted 3/1 w(x 1) line 3`},
		{"a process that invokes twice", `
{:type :invoke :process 0 :value [[:w 1 1]]}
{:type :invoke :process 0 :value [[:w 1 2]]}
{:type :fail :process 0 :value [:duplicate "x"]}`, `
T0 unknown 0/0 11-12 w(1 1) line 2
T1 aborted 0/1 12-13 w(1 2) line 4`},
		{"what is no micro-operation is a bad record", `
{:type :ok :process 0 :value [[:w 1 1]]}
{:type :ok :process 0 :value [[:frob 1 1]]}
{:type :ok :process 0 :value 7}`, `
T0 committed 0/0 w(1 1) line 2
bad: micro-operation frob is not one of r, w, append
bad: the value is not a vector of operations`},
		{"values of all kinds", `
{:type :ok :value [[:w [1 "a"] {:k "v\n\"", :l [true nil 1.50 1/2 \a]}] [:w "q\"" "é\u00e9"] [:w -3 +7]]}`, `
T0 committed w([1,"a"] {"k":"v\n\"","l":[true,null,1.50,"1/2","a"]}) w(q" "éé") w(-3 7) line 2`},
		{"bank", `
{:type :invoke :process 0 :f :transfer :value {:from 1 :to 2 :amount 5}}
{:type :ok :process 0 :f :transfer :value nil}
{:type :invoke :process 0 :f :transfer :value {:from 1 :to 2 :amount 9}}
{:type :fail :process 0 :f :transfer :value [:negative 1 -4]}
{:type :invoke :process 0 :f :read :value nil}
{:type :ok :process 0 :f :read :value {1 5, 2 15}}
{:type :info :process 0 :f :read :value nil}`, `
T0 committed 0/0 11-12 inc(1 -5) inc(2 5) line 3
T2 aborted 0/1 13-14 inc(1 -9) inc(2 9) line 5
T4 committed 0/2 15-16 r(1 counter 5) r(2 counter 15) line 7
T6 unknown 0/3 line 8
contract start=existing`},
		{"counter", `
{:type :ok :process 0 :f :add :value 2}
{:type :ok :process 0 :f :read :value 2}`, `
T0 committed 0/0 inc(c 2) line 2
T1 committed 0/1 r(c counter 2) line 3`},
		{"set", `
{:type :ok :process 0 :f :add :value [0 2]}
{:type :ok :process 0 :f :read :value #{2 [0 2]}}`, `
T0 committed 0/0 add(set [0,2]) line 2
T1 committed 0/1 r(set set [2,[0,2]]) line 3`},
		{"register", `
{:type :ok :process 0 :f :write :value 2}
{:type :fail :process 0 :f :cas :value [1 3]}
{:type :invoke :process 0 :f :cas :value [2 3]}
{:type :info :process 0 :f :cas}
{:type :ok :process 1 :f :read :value nil}`, `
T0 committed 0/0 w(register 2) line 2
T1 aborted 0/1 cas(register 1 3) line 3
T2 unknown 0/2 13-14 cas(register 2 3) line 5
T4 committed 1/0 r(register) line 6`},
		{"registers by key", `
{:type :ok :process 0 :f :write :value [7 2]}
{:type :ok :process 0 :f :cas :value [7 [2 3]]}
{:type :ok :process 0 :f :read :value [7 3]}`, `
T0 committed 0/0 w(7 2) line 2
T1 committed 0/1 cas(7 2 3) line 3
T2 committed 0/2 r(7 3) line 4`},
		{"mutex", `
{:type :ok :process 0 :f :acquire}
{:type :fail :process 1 :f :release :error :not-held}`, `
initial committed 1-2 w(mutex "free") line 1
T0 committed 0/0 cas(mutex "free" "held") line 2
T1 aborted 1/0 cas(mutex "held" "free") line 3`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := told(t, EDN, c.text)
			if want := strings.TrimSpace(c.want); err != nil || got != want {
				t.Errorf("%v, read:\n%s\nwant:\n%s", err, got, want)
			}
		})
	}
}

func TestPorcupine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"register", "INFO  jepsen.core - said\nINFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 1   :invoke :read   nil\n" +
			"INFO  jepsen.util - 0\t:fail\t:cas\t[1 2]\nINFO  jepsen.util - 1   :ok     :read   7\n" +
			"INFO  jepsen.util - 0\t:invoke\t:write\t3\nINFO  jepsen.util - 0\t:info\t:write\t:timed-out\n" +
			"INFO  jepsen.util - 1\t:invoke\t:read\tnil\nINFO  jepsen.util - 1\t:fail\t:read\t:timed-out\n", `
T0 committed 0/0 11-13 cas(register 1 2 refused) line 4
T1 committed 1/0 12-14 r(register 7) line 5
T4 unknown 0/1 15-16 w(register 3) line 7
T6 aborted 1/1 17-18 line 9`},
		{"texts", `{:process 9, :type :ok, :f :append, :key "0", :value "x y"}
{:process 9, :type :ok, :f :append, :key "0", :value "x"}
{:process 9, :type :ok, :f :get, :key "0", :value "x yxzz"}
{:process 9, :type :ok, :f :put, :key "1", :value "b"}
{:process 9, :type :ok, :f :get, :key "1", :value ""}`, `
T0 committed 9/0 append(0 "x y") line 1
T1 committed 9/1 append(0 "x") line 2
T2 committed 9/2 r(0 list ["x y","x","zz"]) line 3
T3 committed 9/3 w(1 ["b"]) line 4
T4 committed 9/4 r(1 list []) line 5`},
	} {
		got, err := told(t, Porcupine, c.text)
		if want := strings.TrimSpace(c.want); err != nil || got != want {
			t.Errorf("%s: %v, read:\n%s\nwant:\n%s", c.name, err, got, want)
		}
		if f := Detect([]byte(c.text)); f != Porcupine {
			t.Errorf("%s: recognised as %s", c.name, f)
		}
	}
}

func TestTimeKiller(t *testing.T) {
	t.Parallel()
	const text = `[{"cts":{"l":0,"p":"9"},"ops":[{"k":1,"t":"r","v":0},{"k":1,"t":"w","v":5}],"sid":"a","sts":{"p":"7","l":0},"tid":2},
 {"tid":1,"sid":"a","sts":{"p":3},"cts":{"p":4},"ops":[{"t":"a","k":"l","v":1},{"t":"r","k":"l","v":[1]},{"t":"r","k":"l","v":null},{"t":"w","k":"z","v":0},{"t":"r","k":"z","v":0}]}]`
	const want = `T2 committed a/1 ts 7-9 r(1) w(1 5) line 1
T1 committed a/0 ts 3-4 append(l 1) r(l [1]) r(l) w(z 0) r(z 0) line 2
contract trust-commit-ts=true`
	got, err := told(t, TimeKiller, text)
	if err != nil || got != want {
		t.Errorf("%v, read:\n%s\nwant:\n%s", err, got, want)
	}
	ranked, err := told(t, TimeKiller, strings.Replace(text, `{"l":0,"p":"9"}`, `{"l":1,"p":"7"}`, 1))
	if err != nil || !strings.Contains(ranked, "T2 committed a/1 ts 2-3 ") || !strings.Contains(ranked, "T1 committed a/0 ts 0-1 ") {
		t.Errorf("%v, with logical parts:\n%s", err, ranked)
	}
	if f := Detect([]byte("\n" + text)); f != TimeKiller {
		t.Errorf("recognised as %s", f)
	}
}

func TestDBCopJSON(t *testing.T) {
	t.Parallel()
	data := `[[{"events":[{"Write":{"variable":0,"version":1}},{"Read":{"variable":0,"version":null}},{"Read":{"variable":0,"version":0}}],"committed":true},{"events":[],"committed":false}],
[{"committed": true, "events": [{"Read": {"version": 1, "variable": 0}}]}]]`
	const want = `
S1.T1 session=1 seq=0 committed w(0 1) r(0) r(0 0)
S2.T1 session=2 seq=0 committed r(0 1)
S1.T2 session=1 seq=1 aborted`
	for _, text := range []string{data, `{"params":{"id":0,"n_node":[1,"}]"]},"info":"x","data":` + data + `,"end":null}`} {
		got, err := readAll(t, DBCopJSON, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if s := "\n" + strings.TrimSpace(short(got)); s != want {
			t.Errorf("read:%s\nwant:%s", s, want)
		}
		if f := Detect([]byte(text)); f != DBCopJSON {
			t.Errorf("recognised as %s", f)
		}
	}
	got, err := readAll(t, DBCopJSON, []byte(`[[{"events":[{"write":true,"variable":1,"value":2,"success":true},{"write":false,"variable":2,"value":0,"success":true},{"write":true,"variable":1,"value":3,"success":false}],"success":true}]]`))
	if err != nil || strings.TrimSpace(short(got)) != "S1.T1 session=1 seq=0 committed w(1 2) r(2)" {
		t.Errorf("the older form: %v, %s", err, short(got))
	}
}

// A broken file says where and why.
func TestElleFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format Format
		text   string
		want   string
	}{
		{EDN, "{:type :ok :value [[:w 1 1]]}\n{:type :ok :value [[:w 1", `line 2: "[" is never closed`},
		{EDN, "[{:type :ok :value [[:w 1 1]]}\n", `line 2: the file ends before ']'`},
		{EDN, "{:type :ok :value}", "line 1: a map with a name and no value"},
		{EDN, `{:a "x`, "line 1: a string is never closed"},
		{EDN, "{:a ]}", "line 1: ']' where a value is expected"},
		{EDN, "\n\n7", "line 3: a map is expected"},
		{EDN, "{:type :frob :process 0 :value [[:w 1 1]]}", "line 1: the type is not one of"},
		{EDN, "{:type :ok :f :enqueue :value 1}", `line 1: operations called ["enqueue"]`},
		{EDN, strings.Repeat("[", 500), "line 1: nested too deeply"},
		{EDN, "{:a :}", "line 1: a keyword without a name"},
		{ElleJSON, `[{"type":"ok","value":[["w",1,1]]`, "line 1: "},
		{Porcupine, "INFO  jepsen.util - 0\t:invoke\t:read\t[", "line 1: a process, a type"},
		{Porcupine, "\nINFO  jepsen.util - 0\t:frob\t:read\tnil", "line 2: the type is not one"},
		{TimeKiller, `[{"tid":1,"sts":{"p":"x"},"cts":{"p":1},"ops":[]}]`, "line 1: sts is not a timestamp"},
		{TimeKiller, `[{"sts":{"p":1},"cts":{"p":1},"ops":[]}]`, "line 1: a transaction without tid or ops"},
		{DBCopJSON, `[[{"events":[{"Write":{"variable":0}}],"committed":true}]]`, "byte 37: an event without"},
		{DBCopJSON, `[[{"events":[]}]]`, `byte 15: a transaction without "committed"`},
		{DBCopJSON, `{"params":1}`, `byte 12: a history without "data"`},
		{DBCopJSON, `[] x`, "byte 3: the end of the file is expected"},
		{DBCopJSON, `[[{"events":[{"Write":{"variable":0,"version":null}}],"committed":true}]]`, "byte 52: a write without a version"},
	} {
		_, err := told(t, c.format, c.text)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %s", c.format, c.text, err, c.want)
		}
	}
}

// TestFlat: a vector of integers that is read as one text has the JSON that it has item by item.
func TestFlat(t *testing.T) {
	flat := 0
	for _, text := range []string{
		"[1 2 3 4]", "[1, 2,3 ,4]", "[ 1 2 3 -4 ]", "[0 -0 10 100]", "[1 2 3]", "[]", "[1 2 3 04]", "[1 2 3 4N]", "[1 2 3 4.5]", "[1 2 3 +4]",
		"[1 2 3 -]", "[1 2 - 3 4]", "[1-2 3 4 5]", "[1 2 3 4", "[1 2 3 [4]]", "[1 2 3 4 :a]", "[1 2 3 4\n5]", "[1 2 3 4)", "[--1 2 3 4]", "[1 2 3 4 nil]",
	} {
		whole, items := nodeReader{data: []byte(text), flat: true}, nodeReader{data: []byte(text)}
		a, err := whole.read()
		b, other := items.read()
		if (err == nil) != (other == nil) {
			t.Errorf("%s: %v, and item by item %v", text, err, other)
			continue
		}
		if a.flat {
			flat++
		}
		if got, want := string(a.appendJSON(nil)), string(b.appendJSON(nil)); err == nil && (got != want || whole.i != items.i) {
			t.Errorf("%s: %s, and item by item %s", text, got, want)
		}
	}
	if flat != 4 {
		t.Errorf("%d vectors are flat, want 4", flat)
	}
}

// FuzzFlat: so with any text.
func FuzzFlat(f *testing.F) {
	f.Add("[1 2 3 4]")
	f.Add("[[1 2 3 -4,5] {:a [0 0 0 10]}]")
	f.Fuzz(func(t *testing.T, text string) {
		whole, items := nodeReader{data: []byte(text), flat: true}, nodeReader{data: []byte(text)}
		a, err := whole.read()
		b, other := items.read()
		if (err == nil) != (other == nil) {
			t.Fatalf("%v, and item by item %v", err, other)
		}
		if got, want := string(a.appendJSON(nil)), string(b.appendJSON(nil)); err == nil && (got != want || whole.i != items.i) {
			t.Errorf("%s, and item by item %s", got, want)
		}
	})
}
