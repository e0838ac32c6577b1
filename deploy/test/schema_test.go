package deploytest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestSchemaOfConfig: the chart's schema has what monitor config schema prints. go test -run
// SchemaOfConfig -rewrite puts it there.
func TestSchemaOfConfig(t *testing.T) {
	printed, err := exec.Command(buildMonitor(t), "config", "schema").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(printed, &want); err != nil {
		t.Fatal(err)
	}
	delete(want, "$schema")
	file := filepath.Join(chartDir, "values.schema.json")
	text := mustRead(t, file)
	var values struct {
		Definitions map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		at := bytes.Index(text, []byte("\n  \"definitions\": {")) // the last key, so that a person reads the others first
		if at < 0 {
			at = bytes.LastIndex(text, []byte("\n}"))
			text = append(text[:at:at], ',')
			at++
		}
		config, err := json.MarshalIndent(want, "    ", "  ")
		if err != nil {
			t.Fatal(err)
		}
		out := append(text[:at:at], "\n  \"definitions\": {\n    \"config\": "...)
		out = append(append(out, config...), "\n  }\n}\n"...)
		if err := os.WriteFile(file, out, 0o644); err != nil {
			t.Fatal(err)
		}
		values.Definitions = map[string]json.RawMessage{"config": config}
	}
	var got map[string]any
	if err := json.Unmarshal(values.Definitions["config"], &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the schema of config is another one: go test -run SchemaOfConfig -rewrite (%v)", err)
	}
}

// TestConfigIsChecked: what monitor config check refuses for its keys or the form of a value is an
// error of the rendering, with its name. What it takes is rendered.
func TestConfigIsChecked(t *testing.T) {
	for text, name := range map[string]string{
		"config: {latenes: 5s}":                                             "latenes",
		"config: {sources: [{name: a, expct: serializable}]}":               "expct",
		"config: {watch: {lateness: 5}}":                                    "lateness",
		"config: {watch: {live-cap: many}}":                                 "live-cap",
		"config: {memory: 1Gi}":                                             "memory",
		"config: {sources: [{name: a, contract: {deletes: maybe}}]}":        "deletes",
		"config: {sinks: [{alertmanager: {url: x}}]}":                       "url",
		"shards: [{sources: [{name: a, inputs: [{kafka: {topik: [a]}}]}]}]": "topik",
		"shards: [{sources: {name: a}}]":                                    "sources",
	} {
		v, err := chartutil.ReadValues([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := render(t, v); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v does not name %s", text, err, name)
		}
	}
	var full map[string]any
	if err := yaml.Unmarshal(mustRead(t, "../../internal/config/testdata/full.yaml"), &full); err != nil {
		t.Fatal(err)
	}
	if _, err := render(t, map[string]any{"config": full}); err != nil {
		t.Error(err)
	}
}

// TestNumbersStayWhole: 2000000 must not reach the monitor as 2e+06, which it refuses.
func TestNumbersStayWhole(t *testing.T) {
	v, err := chartutil.ReadValues([]byte("config: {watch: {live-cap: 2000000}, retention: {findings: {bytes: 10737418240}}}\nshards: [{}, {watch: {key-cap: 3000000}}]"))
	if err != nil {
		t.Fatal(err)
	}
	data := find[*corev1.ConfigMap](t, objects(t, v)).Data["demo-isowatch-1.yaml"]
	for _, want := range []string{"live-cap: 2000000\n", "bytes: 10737418240\n", "key-cap: 3000000\n"} {
		if !strings.Contains(data, want) {
			t.Errorf("no %q in\n%s", want, data)
		}
	}
}
