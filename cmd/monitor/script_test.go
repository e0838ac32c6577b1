package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestMain lets several scripts run at once: they wait for services most of their time.
func TestMain(m *testing.M) {
	testrun.Waiting(14)
	testscript.Main(inMemory{m}, map[string]func(){"monitor": main})
}

// inMemory runs the tests while their folders are in memory: the stores of all of them would wait for one disk.
// A process that is killed loses nothing that it has written, on either.
type inMemory struct{ m *testing.M }

// The servers of the tests are in this process, beside hundreds of programs that it starts: it collects rarely.
func (x inMemory) Run() int {
	testrun.CollectRarely()
	return testrun.Run(x.m.Run)
}

// TestScripts runs testdata/*.txt, each a script with its files. Beside the
// commands of testscript there are
//
//	exits CODE PROGRAM ARG...          runs the program, which must exit with that code
//	eventually REGEXP PROGRAM ARG...   runs it until standard output matches, for 15 s
//	violates PROGRAM ARG...            runs it for its --duration, then 4 and 16 times as long, until it exits with 1
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			examples, err := filepath.Abs("../../examples")
			env.Setenv("EXAMPLES", examples)
			return err
		},
		Cmds: commands,
	})
}

var commands = map[string]func(*testscript.TestScript, bool, []string){
	"exits": exits, "eventually": eventually, "violates": violates,
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if code := exitCode(ts, args[1:]); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// violates runs a probe that finds an anomaly by chance. On a busy machine fewer transactions meet.
func violates(ts *testscript.TestScript, neg bool, args []string) {
	at := slices.Index(args, "--duration") + 1
	if neg || at == 0 || at == len(args) {
		ts.Fatalf("usage: violates PROGRAM ARG... with --duration")
	}
	duration, err := time.ParseDuration(args[at])
	ts.Check(err)
	for _, times := range []time.Duration{1, 4, 16} {
		args[at] = (duration * times).String()
		if exitCode(ts, args) == exitViolated {
			return
		}
	}
	ts.Fatalf("no violation")
}

func exitCode(ts *testscript.TestScript, args []string) int {
	var failed *exec.ExitError
	err := ts.Exec(args[0], args[1:]...)
	if errors.As(err, &failed) {
		return failed.ExitCode()
	}
	ts.Check(err)
	return 0
}

func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP PROGRAM ARG...")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("nothing matches %q; the last run: %v", args[0], err)
		}
	}
}
