package isowatch_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/isowatch/isowatch"

// mayImport says which packages of this module each package may import, outside
// of its tests, and that it does. "*" is everything but commands and the packages of testOnly.
const mayImport = `
cmd/monitor           : alert internal/catalog internal/render/words internal/render/page internal/config docs event finding history internal/app internal/engine internal/render/picture internal/whole internal/isolation probe probe/publisher probe/target window
alert                 : internal/render/words finding
alert/kafka           : alert internal/broker/kafka
alert/nats            : alert internal/broker/nats
internal/render/words : finding
capture               : capture/internal/statement event/record
capture/internal/message : capture
capture/internal/statement :
capture/kafka         : capture capture/internal/message
capture/nats          : capture capture/internal/message
capture/pgx           : capture capture/internal/statement capture/rows
capture/rows          : capture
check                 : internal/render/words internal/config event finding internal/whole internal/isolation window
internal/config       : internal/pattern internal/isolation
docs                  : internal/isolation
event                 : event/record
event/record          :
examples/shop         : capture capture/pgx capture/rows
examples/shop/before  :
finding               : event
incremental           : internal/flat
history               : event
internal/infer        : event internal/flat internal/infer/causes internal/infer/counters internal/infer/ledger internal/infer/linear internal/infer/lists internal/infer/registers internal/infer/sets
internal/infer/causes : event internal/flat internal/infer/ledger internal/pattern
internal/infer/counters : event internal/flat internal/infer/causes internal/infer/ledger internal/infer/registers
internal/infer/infertest : *
internal/infer/ledger : event finding internal/flat internal/invariants internal/pattern
internal/infer/linear : event internal/flat internal/infer/causes internal/infer/ledger internal/infer/registers
internal/infer/lists  : event internal/infer/causes internal/infer/ledger internal/infer/registers
internal/infer/orders : event internal/flat internal/infer/causes internal/infer/ledger
internal/infer/registers : event internal/flat internal/infer/causes internal/infer/ledger internal/infer/orders internal/pattern
internal/infer/sets   : event internal/flat internal/infer/causes internal/infer/ledger internal/infer/registers
ingest                :
ingest/kafka          : ingest internal/broker/kafka
ingest/nats           : ingest internal/broker/nats
ingest/stdin          : ingest ingest/tail/lines
ingest/tail           : ingest ingest/tail/lines
ingest/tail/lines     : ingest
internal/adya         : *
internal/app          : *
internal/bench        : *
internal/broker/kafka :
internal/broker/nats  :
internal/catalog      : finding internal/pattern
internal/engine       : alert event finding internal/infer ingest internal/flat internal/isolation internal/tape store window
internal/flat         :
internal/group        :
internal/group/drive  : internal/group internal/group/store
internal/group/keep   : internal/group/store internal/pulse store
internal/group/store  : internal/group
internal/group/store/file : internal/group
internal/group/store/nats : internal/group
internal/group/store/s3 : internal/group
internal/group/storetest : *
internal/guides       : *
internal/hostile      :
internal/invariants   :
internal/live         : *
internal/mutate       :
internal/oracle       : event internal/workload
internal/pattern      : internal/flat
internal/pulse        :
internal/render/page  : event finding internal/catalog internal/isolation internal/render/picture internal/render/records internal/render/scene internal/render/words
internal/render/picture : event finding internal/render/scene
internal/render/records : event finding history internal/isolation internal/render/scene
internal/render/scene : event finding internal/render/words internal/isolation
internal/probelive    : *
internal/prose        :
internal/recorded     : *
internal/simtest      : *
internal/tape         : event finding ingest
internal/testcapture  : capture
internal/testdb       :
internal/testkafka    :
internal/testnats     :
internal/testrun      : internal/volume
internal/external     : event
internal/verify       : event finding
internal/web          : finding internal/catalog internal/render/page internal/render/picture internal/render/records internal/render/words internal/isolation
internal/whole        : internal/catalog internal/render/words internal/config docs event finding history ingest ingest/stdin ingest/tail/lines internal/isolation internal/registers internal/tape window
internal/witnesses    : event finding internal/workload
internal/workload     : event
internal/isolation    : event finding incremental internal/external
internal/linear       :
probe                 : event
probe/child           : event probe
probe/epoch           : probe
probe/mysql           : event probe probe/epoch
probe/postgres        : event probe probe/epoch
probe/publisher       : internal/broker/kafka internal/broker/nats
probe/sqlite          : event probe probe/epoch
probe/sim             : event internal/workload probe
probe/target          : probe probe/child probe/epoch probe/mysql probe/postgres probe/sim probe/sqlite
internal/registers    : event internal/isolation internal/saturation
internal/saturation   : internal/flat
internal/solve        :
store                 : internal/pulse
internal/trial        : event
internal/volume       :
window                : docs event finding incremental internal/infer internal/flat internal/invariants internal/pattern internal/verify internal/isolation internal/linear internal/saturation internal/solve internal/trial
`

// testOnly packages are imported by tests and by each other only.
var testOnly = []string{
	"internal/adya", "internal/bench", "internal/group/storetest", "internal/guides", "internal/infer/infertest", "internal/live", "internal/mutate", "internal/oracle", "internal/probelive", "internal/prose", "internal/recorded", "internal/simtest", "internal/testcapture", "internal/testdb", "internal/testkafka", "internal/testnats", "internal/testrun", "internal/witnesses",
}

// pure packages are functions of their inputs: no clock, no I/O, no goroutine.
// Recovery by replay rests on it.
var pure = []string{"docs", "event", "event/record", "finding", "incremental", "internal/infer", "internal/infer/causes", "internal/infer/counters", "internal/infer/ledger", "internal/infer/linear", "internal/infer/lists", "internal/infer/orders", "internal/infer/registers", "internal/infer/sets", "internal/catalog", "internal/external", "internal/flat", "internal/group", "internal/pattern", "internal/render/picture", "internal/render/scene", "internal/render/words", "internal/verify", "internal/isolation", "internal/linear", "internal/registers", "internal/saturation", "internal/solve", "internal/trial", "window"}

// impure imports are none of a pure package's.
var impure = []string{"context", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "sync", "sync/atomic"}

// onlyIn says where a dependency may be imported, outside of tests. Dependencies
// that are not named here may be imported nowhere.
const onlyIn = `
github.com/dgraph-io/badger/v4         : store
github.com/dgraph-io/ristretto/v2      : store
github.com/go-sql-driver/mysql         : probe/mysql
github.com/jackc/pgx/v5                : capture/pgx examples/shop examples/shop/before probe/postgres
github.com/klauspost/compress           : ingest/tail/lines internal/web
github.com/minio/minio-go/v7           : internal/group/store/s3
github.com/nats-io/nats-server/v2      : internal/broker/nats
github.com/nats-io/nats.go             : alert/nats capture/nats ingest/nats internal/app internal/broker/nats internal/group/store/nats internal/testnats probe/publisher
github.com/prometheus/client_golang    : alert internal/app internal/web
github.com/prometheus/client_model     : internal/app
github.com/segmentio/kafka-go          : alert/kafka capture/kafka ingest/kafka internal/broker/kafka internal/testkafka probe/publisher
github.com/spf13/cobra                 : cmd/monitor
github.com/spf13/pflag                 : cmd/monitor
go.yaml.in/yaml/v3                     : internal/config
golang.org/x/sync                      : internal/app
github.com/zeebo/xxh3                  : event internal/infer internal/infer/causes internal/infer/infertest internal/infer/ledger internal/infer/registers internal/infer/sets ingest/kafka ingest/tail internal/isolation store window
modernc.org/sqlite                     : probe/sqlite
`

// source is one Go file.
type source struct {
	name string // slash-separated, from the module's root
	text []byte
}

func (s source) dir() string     { return path.Dir(s.name) }
func (s source) isTest() bool    { return strings.HasSuffix(s.name, "_test.go") }
func (s source) isCommand() bool { return isCommand(s.name) }

// isCommand says whether the package or file is a command's. Examples are programs too, which nobody
// imports: they may end the process and take signals.
func isCommand(name string) bool {
	return strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "examples/")
}

// rules are the tables, read.
type rules struct {
	ours, theirs [][2]string // left and right of the colon
}

func readTable(text string) [][2]string {
	var rows [][2]string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		left, right, _ := strings.Cut(line, ":")
		rows = append(rows, [2]string{strings.TrimSpace(left), strings.TrimSpace(right)})
	}
	return rows
}

func (r rules) row(rows [][2]string, name string) (allowed string, ok bool) {
	for _, row := range rows {
		if row[0] == name {
			return row[1], true
		}
	}
	return "", false
}

// check lists what files break, in their order.
func (r rules) check(files []source) ([]string, error) {
	var broken []string
	made := map[[2]string]bool{} // imports, of a directory and by path
	for _, f := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), f.name, f.text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if f.isTest() {
			continue
		}
		say := func(format string, args ...any) {
			broken = append(broken, f.name+": "+fmt.Sprintf(format, args...))
		}
		if _, ok := r.row(r.ours, f.dir()); !ok {
			say("package %s is not in the import table", f.dir())
		}
		for _, spec := range parsed.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if why := r.refuses(f.dir(), path); why != "" {
				say("%s", why)
			}
			made[[2]string{f.dir(), r.allowedAs(path)}] = true
		}
		checkCalls(f, parsed, say)
	}
	for _, row := range r.ours {
		if !slices.ContainsFunc(files, func(f source) bool { return f.dir() == row[0] }) {
			broken = append(broken, "the import table names "+row[0]+", which does not exist")
			continue
		}
		for _, what := range strings.Fields(row[1]) {
			if what != "*" && !made[[2]string{row[0], what}] {
				broken = append(broken, row[0]+" may import "+what+", and does not: take it out of the table")
			}
		}
	}
	for _, row := range r.theirs {
		for _, dir := range strings.Fields(row[1]) {
			if !made[[2]string{dir, row[0]}] {
				broken = append(broken, dir+" may import "+row[0]+", and does not: take it out of the table")
			}
		}
	}
	return broken, nil
}

// allowedAs returns what the tables call the package at path.
func (r rules) allowedAs(path string) string {
	if ours, isOurs := strings.CutPrefix(path, module+"/"); isOurs {
		return ours
	}
	for _, row := range r.theirs {
		if path == row[0] || strings.HasPrefix(path, row[0]+"/") {
			return row[0]
		}
	}
	return path
}

// refuses says why the package in dir must not import what path names, "" if it
// may.
func (r rules) refuses(dir, path string) string {
	ours, isOurs := strings.CutPrefix(path, module+"/")
	switch {
	case isOurs:
		allowed, _ := r.row(r.ours, dir)
		switch {
		case isCommand(ours):
			return "imports the command " + ours
		case slices.Contains(testOnly, ours) && !slices.Contains(testOnly, dir):
			return "imports " + ours + ", which is for tests"
		case allowed != "*" && !slices.Contains(strings.Fields(allowed), ours):
			return "may not import " + ours
		}
	case !strings.Contains(strings.Split(path, "/")[0], "."): // standard library
		if slices.Contains(pure, dir) && slices.Contains(impure, path) {
			return "is pure and may not import " + path
		}
		if path == "os/signal" && !isCommand(dir) {
			return "may not import os/signal: signals are the command's"
		}
	default:
		for _, row := range r.theirs {
			if row[0] == r.allowedAs(path) {
				if slices.Contains(strings.Fields(row[1]), dir) {
					return ""
				}
				return "may not import " + path + ", only " + row[1] + " may"
			}
		}
		return "imports " + path + ", a dependency that the table does not know"
	}
	return ""
}

// exits end the process. Library packages return errors.
var exits = []string{"os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln", "syscall.Exit", "runtime.Goexit"}

// clocks and sleeps are none of a pure package's.
var clocks = []string{"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.NewTimer", "time.NewTicker"}

// settings are of the whole process: a library leaves them alone.
var settings = []string{"runtime.GC", "runtime/debug.SetGCPercent", "runtime/debug.SetMemoryLimit", "runtime/debug.FreeOSMemory"}

func checkCalls(f source, parsed *ast.File, say func(string, ...any)) {
	isPure := slices.Contains(pure, f.dir())
	paths := map[string]string{} // of imports, by the names that the file has for them
	for _, spec := range parsed.Imports {
		of := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(of)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			say("imports the names of %s: which calls are its is not seen", of)
		}
		paths[name] = of
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			name := paths[x.Name] + "." + n.Sel.Name
			if slices.Contains(exits, name) && !f.isCommand() {
				say("calls %s: only a command ends the process", name)
			}
			if slices.Contains(settings, name) && !f.isCommand() && f.dir() != "internal/testrun" { // which only tests call
				say("calls %s: the process is the command's", name)
			}
			if isPure && slices.Contains(clocks, name) {
				say("is pure and calls %s", name)
			}
		case *ast.GoStmt:
			if isPure {
				say("is pure and starts a goroutine")
			}
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				say("has an init function")
			}
		}
		return true
	})
}

// TestDependencies holds the whole module to the tables, files of every build
// tag included.
func TestDependencies(t *testing.T) {
	var files []source
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "testdata"):
			return fs.SkipDir
		case name == "deploy/test", name == "capture/ormtest", name == "internal/web/browsertest": // modules of their own
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := os.ReadFile(name)
		files = append(files, source{name, text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	broken, err := rules{readTable(mayImport), readTable(onlyIn)}.check(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range broken {
		t.Error(what)
	}
	if len(files) < 100 {
		t.Errorf("%d files were looked at: the module has more", len(files))
	}
}

// lean packages need nothing but the standard library, of all that they import:
// what a service takes in to be captured.
var lean = []string{"capture", "capture/internal/statement", "capture/rows", "event/record"}

func TestLean(t *testing.T) {
	for _, dir := range lean {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./"+dir).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range strings.Fields(string(out)) {
			if !slices.Contains(lean, strings.TrimPrefix(path, module+"/")) {
				t.Errorf("%s needs %s, which is not of the standard library", dir, path)
			}
		}
	}
}

// TestVerifierIsAlone: of this module the verifier needs data only, so that no error of a package
// that infers, searches, names or explains passes it too.
func TestVerifierIsAlone(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./internal/verify").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		dir, ours := strings.CutPrefix(path, module+"/")
		if ours && !slices.Contains([]string{"event", "event/record", "finding", "internal/verify"}, dir) {
			t.Errorf("internal/verify needs %s", dir)
		}
	}
}

// TestRules holds the rules to small modules that break them: each section of
// testdata/dependencies.txt is a module's tables and files, and what is wrong
// with it.
func TestRules(t *testing.T) {
	text, err := os.ReadFile("testdata/dependencies.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(text), "\n=== ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		t.Run(name, func(t *testing.T) {
			var r rules
			var files []source
			want := ""
			for _, part := range strings.Split("\n"+body, "\n-- ")[1:] {
				file, text, _ := strings.Cut(part, " --\n")
				switch file {
				case "ours":
					r.ours = readTable(text)
				case "theirs":
					r.theirs = readTable(text)
				case "broken":
					want = strings.TrimSpace(text)
				default:
					files = append(files, source{file, []byte(text)})
				}
			}
			broken, err := r.check(files)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(broken, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}
