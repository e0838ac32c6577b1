package deploytest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-jsonnet"
	"sigs.k8s.io/yaml"
)

const renderedBy = "# Rendered from deploy/mixin, which says why: make mixin\n"

// evaluate is the JSON of a part of the mixin.
func evaluate(t *testing.T, part string) []byte {
	t.Helper()
	vm := jsonnet.MakeVM()
	vm.Importer(&jsonnet.FileImporter{JPaths: []string{"../mixin"}})
	text, err := vm.EvaluateAnonymousSnippet("mixin", "(import 'mixin.libsonnet')."+part)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

// rendered are the files of the mixin; a chart can only hold files of its own folder.
func rendered(t *testing.T) map[string][]byte {
	t.Helper()
	rules, err := yaml.JSONToYAML(evaluate(t, "prometheusAlerts"))
	if err != nil {
		t.Fatal(err)
	}
	rules = append([]byte(renderedBy), rules...)
	var dashboards map[string]json.RawMessage
	if err := json.Unmarshal(evaluate(t, "grafanaDashboards"), &dashboards); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{rulesPath: rules, filepath.Join(chartDir, "rules", "isowatch.yaml"): rules}
	for name, dashboard := range dashboards {
		var b bytes.Buffer
		if err := json.Indent(&b, dashboard, "", "  "); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
		files[filepath.Join("../grafana", name)] = b.Bytes()
		files[filepath.Join(chartDir, "dashboards", name)] = b.Bytes()
	}
	return files
}

// TestRendered: what is installed is what the mixin says.
func TestRendered(t *testing.T) {
	for file, want := range rendered(t) {
		if *rewrite {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what deploy/mixin renders: make mixin (%v)", file, err)
		}
	}
}
