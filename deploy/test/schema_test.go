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
	definitions := want["definitions"].(map[string]any) // of the whole file: references lead there
	delete(want, "definitions")
	definitions["config"] = want
	file := filepath.Join(chartDir, "values.schema.json")
	text := mustRead(t, file)
	var values struct{ Definitions map[string]any }
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
		parts, err := json.MarshalIndent(definitions, "  ", "  ")
		if err != nil {
			t.Fatal(err)
		}
		out := append(text[:at:at], "\n  \"definitions\": "...)
		out = append(append(out, parts...), "\n}\n"...)
		if err := os.WriteFile(file, out, 0o644); err != nil {
			t.Fatal(err)
		}
		values.Definitions = definitions
	}
	if !reflect.DeepEqual(values.Definitions, definitions) {
		t.Error("the schema of config is another one: go test -run SchemaOfConfig -rewrite")
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

		"config: {watch: {expect: serialisible}}":                                               "expect",
		"config: {watch: {expect: postgresql/foo}}":                                             "expect",
		"config: {watch: {levels: [serialisible]}}":                                             "levels",
		"config: {watch: {levels: []}}":                                                         "levels",
		"config: {watch: {levels: serialisible}}":                                               "levels",
		"config: {sources: [{name: a, expect: postgres}]}":                                      "expect",
		"config: {sources: [{expect: serializable}]}":                                           "sources",
		"config: {inputs: [{kafka: {topics: [t]}}]}":                                            "brokers",
		"config: {inputs: [{kafka: {brokers: [], topics: [t]}}]}":                               "brokers",
		"config: {inputs: [{kafka: {brokers: b, topics: t, unit: row}}]}":                       "unit",
		"config: {inputs: [{kafka: {brokers: b, topics: t, user: u, sasl: PLAIN}}]}":            "kafka",
		"config: {inputs: [{kafka: {brokers: b, topics: t, user: u, password-file: f}}]}":       "sasl",
		"config: {inputs: [{kafka: {brokers: b, topics: t}, nats: {urls: n, stream: s}}]}":      "inputs",
		"config: {inputs: [{}]}":                                                                "inputs",
		"shards: [{inputs: [{nats: {urls: n}}]}]":                                               "stream",
		"config: {inputs: [{nats: {urls: n, stream: s, password-file: f}}]}":                    "user",
		"config: {inputs: [{probe: {expect: serializable}}]}":                                   "url",
		"config: {inputs: [{probe: {url: 'postgres://h/d', expect: serialisible}}]}":            "expect",
		"config: {sinks: [{webhook: {}}]}":                                                      "webhook",
		"config: {sinks: [{webhook: {url: 'http://h/', url-env: U}}]}":                          "webhook",
		"config: {sinks: [{name: a}]}":                                                          "sinks",
		"config: {sinks: [{alertmanager: {urls: ['http://h'], user: u}}]}":                      "alertmanager",
		"config: {sinks: [{file: {}}]}":                                                         "path",
		"config: {sources: [{name: a}, {name: b}, {name: a}]}":                                  "source a is named twice",
		"{config: {sources: [{name: a}]}, shards: [{sources: [{name: b}, {name: b}]}]}":         "source b is named twice",
		"config: {http: {user: u}}":                                                             "basic auth needs both",
		"{config: {http: {user: u, password-file: f}}, shards: [{}, {http: {user: ''}}]}":       "basic auth needs both",
		"config: {sinks: [{name: a, file: {path: p}}, {name: a, webhook: {url: 'http://h/'}}]}": "two sinks are called a",
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
	for _, text := range []string{
		"config: {watch: {expect: ' Repeatable Read', levels: 'serialisable, SI'}}",
		"config: {sources: [{name: a, expect: PG/serialisable, levels: [ALL]}, {name: b, expect: 'mysql/REPEATABLE READ', levels: ['RC,SI', strict serializable]}]}",
		"config: {inputs: [{nats: , tail: [], stdin: no, kafka: {brokers: b, topics: t, sasl: '', user: ''}}]}",
		"config: {sinks: [{webhook: , file: {path: p}}, {webhook: {url-env: U, url: ''}}]}",
		"{config: {http: {user: u}}, shards: [{http: {password-file: f}}]}",
	} {
		v, err := chartutil.ReadValues([]byte(text))
		if err == nil {
			_, err = render(t, v)
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
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
