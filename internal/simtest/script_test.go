package simtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A scenario file holds scenarios that a person reads:
//
//	scenario lost update
//	# Prose.
//	txn T1: read x nil, write x 1
//	end
//	findings
//	----
//	final r1 lost-update ...
//
// What the commands of a block print must be the text below its "----", up to
// the next blank line.

// command is one line of a scenario.
type command struct {
	line       int // from 1
	name, rest string
}

// block is commands and what they print.
type block struct {
	commands []command
	want     []string
	first    int // index of want's first line in the file
	checked  bool
}

type scenario struct {
	name   string
	line   int
	prose  int // lines of it
	blocks []block
}

// parseScenarios reads a file of scenarios. An error names the line.
func parseScenarios(text string) ([]scenario, error) {
	var all []scenario
	lines := strings.Split(text, "\n")
	names := map[string]bool{}
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		name, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch {
		case line == "":
			continue
		case name == "scenario":
			if rest == "" || names[rest] {
				return nil, fmt.Errorf("line %d: scenario %q has no name of its own", i+1, rest)
			}
			names[rest] = true
			all = append(all, scenario{name: rest, line: i + 1, blocks: []block{{}}})
			continue
		case len(all) == 0:
			if !strings.HasPrefix(line, "#") {
				return nil, fmt.Errorf("line %d: %q is before the first scenario", i+1, line)
			}
			continue
		}
		s := &all[len(all)-1]
		b := &s.blocks[len(s.blocks)-1]
		switch {
		case strings.HasPrefix(line, "#"):
			s.prose++
		case line == "----":
			b.checked, b.first = true, i+1
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != ""; i++ {
				b.want = append(b.want, strings.TrimRight(lines[i], " "))
			}
			s.blocks = append(s.blocks, block{})
		default:
			b.commands = append(b.commands, command{i + 1, name, rest})
		}
	}
	for i := range all {
		if err := all[i].finish(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// finish drops the empty last block and says what the scenario lacks.
func (s *scenario) finish() error {
	last := s.blocks[len(s.blocks)-1]
	switch {
	case s.prose == 0:
		return fmt.Errorf("line %d: scenario %q has no line of prose", s.line, s.name)
	case len(last.commands) > 0:
		return fmt.Errorf("line %d: commands of scenario %q are behind its last expectation", last.commands[0].line, s.name)
	case len(s.blocks) == 1:
		return fmt.Errorf("line %d: scenario %q expects nothing", s.line, s.name)
	}
	s.blocks = s.blocks[:len(s.blocks)-1]
	return nil
}

// rewritten is the file with what the blocks of the scenarios printed, block by
// block, as their expectations. nil keeps those of a scenario.
func rewritten(text string, all []scenario, printed [][][]string) string {
	lines := strings.Split(text, "\n")
	for i := len(all) - 1; i >= 0; i-- {
		for j := len(printed[i]) - 1; j >= 0; j-- {
			b := all[i].blocks[j]
			lines = slices.Replace(lines, b.first, b.first+len(b.want), printed[i][j]...)
		}
	}
	return strings.Join(lines, "\n")
}

func scenarioFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in testdata: %v", err)
	}
	return files
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestParseScenarios(t *testing.T) {
	const text = `# About the file.

scenario one
# Why.
txn T1: read x 1
end
findings
----
a

scenario two
# Why not.
verdicts
----
counters
----
b
c`
	all, err := parseScenarios(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || len(all[0].blocks) != 1 || len(all[0].blocks[0].commands) != 3 || len(all[1].blocks) != 1 {
		t.Fatalf("got %+v", all)
	}
	if c := all[0].blocks[0].commands[0]; c != (command{5, "txn", "T1: read x 1"}) {
		t.Errorf("first command is %+v", c)
	}
	got := rewritten(text, all, [][][]string{{{"A", "B"}}, nil})
	if want := strings.Replace(text, "\na\n", "\nA\nB\n", 1); got != want {
		t.Errorf("rewritten:\n%s\nwant:\n%s", got, want)
	}
}

func TestParseScenariosRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"txn T1: read x 1": "line 1: \"txn T1: read x 1\" is before the first scenario",
		"scenario":         "line 1: scenario \"\" has no name of its own",
		"scenario a\n# p\nend\n----\n\nscenario a":           "line 6: scenario \"a\" has no name of its own",
		"scenario a\nend\n----\nx":                           "line 1: scenario \"a\" has no line of prose",
		"scenario a\n# p\nend":                               "line 3: commands of scenario \"a\" are behind its last expectation",
		"scenario a\n# p\nfindings\n----\nx\n\nend\nverdict": "line 7: commands of scenario \"a\" are behind its last expectation",
		"scenario a\n# p":                                    "line 1: scenario \"a\" expects nothing",
	} {
		if _, err := parseScenarios(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
