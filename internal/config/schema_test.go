package config

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestSchemaHasEveryKey: the paths that the schema knows are those that Parse reads.
func TestSchemaHasEveryKey(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"http external-url", "watch contract value-identity", "sources name", "sources inputs kafka sasl", "inputs probe rate",
		"sinks alertmanager hold", "retention panes age", "embedded-nats port", "sources lateness",
	} {
		at := schema
		for _, key := range strings.Fields(path) {
			if items, ok := at["items"].(map[string]any); ok {
				at = items
			}
			keys, _ := at["properties"].(map[string]any)
			if at, _ = keys[key].(map[string]any); at == nil {
				t.Fatalf("no %s", path)
			}
		}
	}
}

// TestPatternsTakeWhatParseTakes: a pattern that is too narrow would keep a chart from being installed.
func TestPatternsTakeWhatParseTakes(t *testing.T) {
	takes := func(l leaf, text string) bool {
		pattern, _ := schemaOfLeaf(l)["pattern"].(string)
		return regexp.MustCompile(pattern).MatchString(text)
	}
	var d time.Duration
	var n int
	var s Size
	for _, text := range []string{"90s", "1h30m", "0", "-5s", "1.5h", ".5s", "1.s", "+3ms", "2us", "2µs", "2μs", "1ns", "", "5", "s", "1d", "1 s", "x5s"} {
		if got, want := takes(period{}, text), (period{&d}).set(text) == nil; got != want && !(got && text == "") {
			t.Errorf("duration %q: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"5", "-5", "+5", "1_000", "1e6", "1.0", "", "05"} {
		if got, want := takes(number{}, text), (number{&n}).set(text) == nil; got != want {
			t.Errorf("number %q: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"512MiB", "1 GiB", " 5 kB ", "10", "auto", "5B", "5KB", "1.5GiB", "GiB", "5TiB", "+1MB"} {
		if got, want := takes(orAuto{}, text), (orAuto{size{&s}}).set(text) == nil; got != want {
			t.Errorf("size %q: %v, want %v", text, got, want)
		}
	}
}

// TestYesAndNoOfYAML11: Helm hands on "no" as false.
func TestYesAndNoOfYAML11(t *testing.T) {
	for text, want := range map[string]string{"false": "no", "true": "yes", "no": "no", "\"yes\"": "yes"} {
		s, err := Parse("f", []byte("watch: {contract: {unmonitored-writers: "+text+"}}"), nil)
		if got := s.Watch.Contract.value("unmonitored-writers"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %s", text, got, err, want)
		}
	}
	if _, err := Parse("f", []byte("watch: {contract: {deletes: false}}"), nil); err == nil {
		t.Error("false is no choice of deletes")
	}
}
