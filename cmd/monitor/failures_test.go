package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/internal/app"
)

// The folder that failures run in holds these.
const (
	aRecord = `{"txn":"T1","status":"committed","ops":[{"op":"w","key":"x","value":1}]}` + "\n"
	// refused is an address that nothing listens on.
	refused = "127.0.0.1:1"
)

// failure is a command line that cannot work. IN_USE in it is an address that is in use.
type failure struct {
	name string
	args string
	says string // regular expression, on standard error
}

// failures list what a user can get wrong, or what can be wrong around the program. What a user can
// mend has exit code 254.
var failures = []failure{
	// Files.
	{"no file", "check nowhere.jsonl", `nowhere.jsonl cannot be read: no such file`},
	{"a folder", "check folder", `folder cannot be read: is a folder`},
	{"not text", "check binary", `binary`},
	{"cut gzip", "check cut.jsonl.gz", `cut.jsonl.gz`},
	{"no file to validate", "validate nowhere.jsonl", `nowhere.jsonl`},
	{"a folder to validate", "validate folder", `folder`},
	{"no file to convert", "convert nowhere.jsonl", `nowhere.jsonl`},
	{"a history that the form cannot hold", "convert --to dbcop lists.jsonl", `lists.jsonl`},
	{"no file to replay", "replay --file nowhere.jsonl", `nowhere.jsonl`},
	{"a pattern that is none", "replay --file [", `\[`},
	{"no place for man pages", "man --dir good.jsonl/man", `name a folder that you may write to`},
	{"a file for man pages", "man --dir good.jsonl", `good.jsonl`},
	{"an unknown page", "explain no such thing", `no such thing`},

	// The configuration.
	{"no configuration", "run --config nowhere.yaml", `nowhere.yaml`},
	{"no YAML", "run --config bad.yaml", `bad.yaml`},
	{"a key that is none", "run --config key.yaml", `key.yaml:1: .*windw`},
	{"an empty configuration", "config check nowhere.yaml", `nowhere.yaml`},
	{"a folder as configuration", "run --config folder", `folder`},
	{"a key that is none, checked", "config check key.yaml", `key.yaml:1`},
	{"no configuration to show", "config show --config bad.yaml", `bad.yaml`},
	{"no level", "run --stdin --expect no-such-level", `no-such-level`},
	{"no product", "run --stdin --expect nosql/serializable", `nosql`},
	{"no log form", "run --stdin --log-level loud", `loud`},

	// Addresses and TLS.
	{"a port in use", "run --data d --nats-port 0 --http IN_USE", `address already in use(.|\n)*--http`},
	{"a NATS port in use", "run --data d --http off --nats-port IN_USE_PORT", `in use(.|\n)*--nats-port`},
	{"an address that is not here", "run --data d --nats-port 0 --http 192.0.2.1:80", `192.0.2.1`},
	{"no certificate", "run --config nocert.yaml", `nowhere.pem`},
	{"a broken certificate", "run --config badcert.yaml", `bad.pem`},
	{"no password file", "run --config nopassword.yaml", `nowhere.txt`},
	{"no webhook secret", "run --stdin --http off --webhook http://" + refused + "/ --webhook-secret-file nowhere.txt", `nowhere.txt`},

	// The data folder.
	{"a file as data folder", "run --stdin --http off --data good.jsonl", `good.jsonl(.|\n)*--data`},
	{"a file above the data folder", "run --stdin --http off --data good.jsonl/data", `good.jsonl`},
	{"a data folder that cannot be made", "run --stdin --http off --data /proc/isowatch", `/proc/isowatch(.|\n)*--data`},
	{"no permission for a data folder", "run --stdin --http off --data /sys/isowatch", `/sys/isowatch(.|\n)*--data`},
	{"a data folder with a long name", "run --stdin --http off --data " + strings.Repeat("long", 70), `file name too long`},
	{"a damaged store", "run --stdin --http off --data damaged", `damaged/store(.|\n)*Move damaged/store away`},
	{"a damaged store, read", "findings --data damaged", `damaged/store(.|\n)*Move damaged/store away`},
	{"a store with a damaged table", "run --stdin --http off --data table", `table/store/000001.sst(.|\n)*Move table/store away`},
	{"a store with a damaged table, read", "findings --data table", `table/store/000001.sst(.|\n)*Move table/store away`},
	{"a store with a damaged log", "run --stdin --http off --data log", `log/store(.|\n)*Move log/store away`},
	{"a store with a damaged log, read", "findings --data log", `log/store`},
	{"a store without its manifest", "run --stdin --http off --data manifest", `MANIFEST is missing(.|\n|\\n)*Move manifest/store away`},
	{"a store without its manifest, read", "findings --data manifest", `MANIFEST is missing(.|\n|\\n)*Move manifest/store away`},
	{"a store with a wrong byte", "run --stdin --http off --data byte", `byte/store/000001.sst.*checksum is wrong(.|\n|\\n)*Move byte/store away`},
	{"a store with a wrong byte, read", "findings --data byte", `byte/store/000001.sst.*checksum is wrong`},
	{"a store that was emptied", "run --stdin --http off --data emptied", `emptied/store(.|\n)*damaged`},
	{"an unsafe reserve", "run --config reserve.yaml", `min-free 1MiB: at least 256MiB`},
	{"no data folder", "findings --data nowhere", `nowhere`},
	{"an empty data folder", "findings --data folder", `folder holds no findings`},
	{"a file as data folder, read", "findings --data good.jsonl", `good.jsonl is no folder`},
	{"no such finding", "findings --data folder --id 1", `folder`},

	// Brokers.
	{"no Kafka to write to", "workload sim:serializable --duration 1s --to kafka://" + refused + "/t", `no broker answers at 127.0.0.1:1: dial (.|\n|\\n)*Nothing listens`},
	{"no credentials", "run --data d --http off --nats nats://" + refused + " --stream S --nats-creds-file nowhere.creds", `nowhere.creds`},
	{"broken credentials", "run --data d --http off --nats nats://" + refused + " --stream S --nats-creds-file good.jsonl", `good.jsonl holds no user seed`},
	{"no seed", "run --data d --http off --nats nats://" + refused + " --stream S --nats-nkey-file good.jsonl", `nkey|seed`},
	{"a broken authority", "run --data d --http off --kafka " + refused + " --topic t --kafka-ca-file bad.pem", `bad.pem`},
	{"no client key", "run --data d --http off --kafka " + refused + " --topic t --kafka-cert-file bad.pem", `key`},
	{"a broken client key", "run --data d --http off --kafka " + refused + " --topic t --kafka-cert-file bad.pem --kafka-key-file bad.pem", `bad.pem`},

	// Databases.
	{"no database", "probe postgres://me@" + refused + "/db --duration 1s --http off", `refused(.|\n|\\n)*Nothing listens at that address`},
	{"no MySQL", "probe mysql://me@" + refused + "/ --duration 1s --http off", `refused`},
	{"no scheme", "probe nosql://x --duration 1s", `nosql`},
	{"no folder for a database", "probe sqlite:///proc/nowhere/db --duration 1s --http off", `unable to open(.|\n)*Check that the folder`},
	{"no program", "probe exec:no-such-program-here --duration 1s --http off", `no-such-program-here`},
	{"a program that ends", "probe exec:true --duration 1s --http off", `before its first answer`},
	{"no file for the records", "probe sim:serializable --duration 1s --http off --history nowhere/h.jsonl", `nowhere`},
	{"no file for the report", "probe sim:serializable --duration 1s --http off --report nowhere/r.json", `nowhere`},
	{"no place for records", "workload sim:serializable --duration 1s --to nowhere/h.jsonl", `nowhere`},
	{"a full disk for the history", "probe sim:serializable --duration 1s --http off --history /dev/full", `no space`},
	{"no password", "probe postgres://me@" + refused + "/db --duration 1s --password-file nowhere.txt", `nowhere.txt`},
	{"a full disk for records", "workload sim:serializable --duration 1s --to /dev/full", `no space`},

	// The command line.
	{"no command", "bogus", `unknown command`},
	{"no flag", "run --bogus", `unknown flag`},
	{"no number", "demo --nats-port many", `many`},
	{"too long ago", "demo --duration -1s", `duration`},
}

// mess holds what is in the folder.
func mess(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"good.jsonl": aRecord, "binary": "\x00\x01\x02\xff", "cut.jsonl.gz": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xaa",
		"lists.jsonl": `{"txn":"T1","status":"committed","ops":[{"op":"append","key":"x","value":1}]}` + "\n",
		"bad.yaml":    "sources: [\n", "key.yaml": "windw: 1m\n", "bad.pem": "no PEM\n", "folder/file": "",
		"reserve.yaml": "min-free: 1MiB\n",
		"bad.jsonl":    aRecord + "no record\n", "empty.jsonl": "", "good.yaml": "data: e\nhttp:\n  address: \"off\"\n",
		"log.yaml":        "data: f\nhttp:\n  address: \"off\"\nlog:\n  format: json\n",
		"wronglog.yaml":   "log: {format: json}\nhttp: {address: nowhere}\n",
		"nocert.yaml":     "data: d\nhttp:\n  address: 127.0.0.1:0\n  cert-file: nowhere.pem\n  key-file: nowhere.pem\n",
		"badcert.yaml":    "data: d\nhttp:\n  address: 127.0.0.1:0\n  cert-file: bad.pem\n  key-file: bad.pem\n",
		"nopassword.yaml": "data: d\nhttp:\n  address: 127.0.0.1:0\n  user: me\n  password-file: nowhere.txt\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for folder, damage := range map[string]func(store string) error{
		"manifest": func(store string) error { return os.Remove(filepath.Join(store, "MANIFEST")) },
		"byte": func(store string) error {
			name := filepath.Join(store, "000001.sst")
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text[30] ^= 1
			return os.WriteFile(name, text, 0o600)
		},
		"emptied": func(store string) error {
			files, err := filepath.Glob(filepath.Join(store, "*"))
			for _, f := range files {
				if filepath.Base(f) != "SYNCED" {
					err = errors.Join(err, os.Remove(f))
				}
			}
			return err
		},
	} {
		ended(t, "run", "--stdin", "--http", "off", "--log-level", "error", "--data", folder)
		if err := damage(filepath.Join(folder, "store")); err != nil {
			t.Fatal(err)
		}
	}
	for folder, file := range map[string]string{"damaged": "MANIFEST", "log": "000001.vlog", "table": "000001.sst"} {
		ended(t, "run", "--stdin", "--http", "off", "--log-level", "error", "--data", folder)
		if err := os.WriteFile(filepath.Join(folder, "store", file), []byte(strings.Repeat("garbage", 10)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailures: what a user can mend has exit code 254, and is told.
func TestFailures(t *testing.T) {
	mess(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	named := strings.NewReplacer("IN_USE_PORT", port, "IN_USE", l.Addr().String())
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			if strings.Contains(f.args, " --duration ") { // it may run for so long
				t.Parallel()
			}
			for _, form := range []string{"text", "json"} {
				code, said := ended(t, append(strings.Fields(named.Replace(f.args)), "--log-format", form)...)
				if code != exitUsage || !regexp.MustCompile(f.says).MatchString(said) {
					t.Errorf("monitor %s: exit code %d, want %d and %q:\n%s", f.args, code, exitUsage, f.says, said)
				}
				if form == "json" {
					wantJSON(t, said)
					if !strings.Contains(said, `"level":"ERROR"`) {
						t.Errorf("monitor %s: no line is an error:\n%s", f.args, said)
					}
				}
			}
		})
	}
}

// ended runs a command line that ends by itself.
func ended(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	return endedIn(t, nil, args...)
}

// endedIn is ended in an environment.
func endedIn(t *testing.T, env map[string]string, args ...string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stderr lockedBuffer // a client of NATS also logs when it was closed
	code = run(ctx, args, terminal{
		stdin: strings.NewReader(aRecord), stdout: new(bytes.Buffer), stderr: &stderr,
		lookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }, environ: func() []string { return nil },
	})
	if ctx.Err() != nil {
		t.Error("it did not end")
	}
	return code, stderr.String()
}

// wantJSON: each line is an object.
func wantJSON(t *testing.T, said string) {
	t.Helper()
	for line := range strings.Lines(said) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil || object["msg"] == "" {
			t.Errorf("%v in %s", err, line)
		}
	}
}

// TestJSONLines: with --log-format json each command writes nothing else to standard error.
func TestJSONLines(t *testing.T) {
	mess(t)
	for _, c := range []struct {
		args  string
		lines int // at least
	}{
		{"check good.jsonl bad.jsonl empty.jsonl nowhere.jsonl", 3},
		{"validate good.jsonl bad.jsonl", 0},
		{"convert bad.jsonl", 2},
		{"replay --file bad.jsonl -o jsonl", 2},
		{"findings --data log", 1},
		{"explain G2-item", 0},
		{"config check good.yaml", 1},
		{"config show", 0},
		{"man", 0},
		{"version", 0},
		{"completion bash", 0},
		{"run --stdin --http off", 2},
		{"run --stdin --http off -o jsonl", 3},
		{"run --stdin --http off -o log", 3},
		{"run --config good.yaml --stdin", 2},
		{"demo --duration 2s --http 127.0.0.1:0", 6},
		{"probe sim:serializable --duration 1s --http off -o jsonl", 3},
		{"workload sim:serializable --duration 1s --to records.jsonl", 2},
	} {
		t.Run(c.args, func(t *testing.T) {
			if strings.Contains(c.args, " --duration ") { // it runs for so long
				t.Parallel()
			}
			_, said := ended(t, append(strings.Fields(c.args), "--log-format", "json")...)
			wantJSON(t, said)
			if n := strings.Count(said, "\n"); n < c.lines {
				t.Errorf("monitor %s: %d lines, want at least %d:\n%s", c.args, n, c.lines, said)
			}
		})
	}
	// The file of settings can ask for it too, and the environment.
	if _, said := ended(t, "run", "--config", "log.yaml", "--stdin"); strings.Count(said, "\n") < 2 {
		t.Error(said)
	} else {
		wantJSON(t, said)
	}
	if code, said := ended(t, "run", "--config", "wronglog.yaml"); code != exitUsage || !strings.Contains(said, "wronglog.yaml:2: http") {
		t.Errorf("exit code %d:\n%s", code, said)
	} else {
		wantJSON(t, said)
	}
	if !asksForJSON(nil, func(name string) (string, bool) { return "json", name == "ISOWATCH_LOG_FORMAT" }) {
		t.Error("the environment is not asked")
	}
	if asksForJSON([]string{"check", "--", "--log-format", "json"}, func(string) (string, bool) { return "", false }) {
		t.Error("the names of files are asked")
	}
}

// Errors of the machine are not ours.
func TestCodeOf(t *testing.T) {
	for err, want := range map[error]int{
		nil: exitOK, errors.New("a slip of ours"): exitInternal,
		&fs.PathError{Op: "open", Path: "f", Err: syscall.EACCES}:            exitUsage,
		&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.ENOSPC}: exitUsage,
		&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}:                  exitUsage,
		exitError{exitUnknown}: exitUnknown, errors.Join(nil, exitError{exitViolated}): exitViolated,
		errors.Join(exitError{exitViolated}, syscall.ENOSPC): exitUsage,
		syscall.EROFS: exitUsage, app.ErrStore: exitUsage,
	} {
		if code, _ := codeOf(err); code != want {
			t.Errorf("%v: %d, want %d", err, code, want)
		}
	}
}

// TestJSONAnywhere: the log is JSON wherever on the command line, or in the environment, that is asked for.
func TestJSONAnywhere(t *testing.T) {
	mess(t)
	for _, args := range []string{
		"bogus", "--bogus", "chek x", "help bogus", "config bogus", "completion bogus", "version x", "check", "check --bogus", "check -o", "check -o xml x",
		"check nowhere.jsonl", "validate nowhere.jsonl", "convert nowhere.jsonl", "replay --file nowhere.jsonl", "findings --data nowhere",
		"config check key.yaml", "config show --config bad.yaml", "run --config key.yaml", "run --stdin --expect nonsense", "probe nosql://x",
		"workload sim:serializable", "demo --duration -1s", "man --dir good.jsonl/x", "explain nonsense", "",
	} {
		fields := strings.Fields(args)
		for place, run := range map[string]func() (int, string){
			"before":      func() (int, string) { return ended(t, append([]string{"--log-format", "json"}, fields...)...) },
			"after":       func() (int, string) { return ended(t, append(fields, "--log-format=json")...) },
			"environment": func() (int, string) { return endedIn(t, map[string]string{"ISOWATCH_LOG_FORMAT": "json"}, fields...) },
		} {
			code, said := run()
			wantJSON(t, said)
			if args != "" && (code != exitUsage || !strings.Contains(said, `"level":"ERROR"`)) {
				t.Errorf("monitor %s, %s: exit code %d:\n%s", args, place, code, said)
			}
		}
	}
}

// TestOutputHasShortForm: -o is --output wherever that is.
func TestOutputHasShortForm(t *testing.T) {
	began, n := false, 0
	term := terminal{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer), lookupEnv: func(string) (string, bool) { return "", false }}
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if f := c.Flags().Lookup("output"); f != nil {
			if n++; f.Shorthand != "o" {
				t.Errorf("%s: --output has the short form %q", c.CommandPath(), f.Shorthand)
			}
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	if look(rootCommand(&term, &began)); n < 7 {
		t.Errorf("%d commands have --output", n)
	}
}
