package deploytest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// TestDockerfile: it parses, and its last stage is a static program that is not root.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string, _ []parser.Range) { t.Errorf("%s: %s", rule, message) }})
	stages, _, err := instructions.Parse(parsed.AST, lint)
	if err != nil {
		t.Fatal(err)
	}
	last := stages[len(stages)-1]
	if last.BaseName != "scratch" {
		t.Errorf("the last stage begins with %s", last.BaseName)
	}
	var user, entry string
	for _, c := range last.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			entry = strings.Join(c.CmdLine, " ")
		}
	}
	if user != "65532:65532" || entry != "monitor" {
		t.Errorf("user %q, entry point %q", user, entry)
	}
	if !strings.Contains(string(text), "CGO_ENABLED=0") {
		t.Error("the program is not static")
	}
}

// TestCompose: the example is valid, all that it mounts is there, and nothing is
// reachable from other machines.
func TestCompose(t *testing.T) {
	file := "../compose/compose.yaml"
	project, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir:  filepath.Dir(file),
		ConfigFiles: []types.ConfigFile{{Filename: file}},
	}, func(o *loader.Options) { o.SetProjectName("isowatch", true) })
	if err != nil {
		t.Fatal(err)
	}
	names := project.ServiceNames()
	for _, want := range []string{"alertmanager", "grafana", "kafka", "monitor", "prometheus"} {
		if !slices.Contains(names, want) {
			t.Errorf("no service %s in %v", want, names)
		}
	}
	for _, s := range project.Services {
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s mounts what is not there: %v", s.Name, err)
			}
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s listens on %q", s.Name, p.HostIP)
			}
		}
	}
}
