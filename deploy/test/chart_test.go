package deploytest

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

const chartDir = "../../helm/isowatch"

// cases are the files of helm/isowatch/ci: values as a user would set them.
func cases(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartDir, "ci", "*-values.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no values below ci: %v", err)
	}
	return files
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render gives the manifests by template name, as an install would.
func render(t *testing.T, values map[string]any) (map[string]string, error) {
	t.Helper()
	c := load(t)
	release := chartutil.ReleaseOptions{Name: "demo", Namespace: "watch", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

func readValues(t *testing.T, file string) map[string]any {
	t.Helper()
	v, err := chartutil.ReadValuesFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// manifests are the YAML documents of what was rendered, in the order of the
// templates' names.
func manifests(rendered map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for doc := range strings.SplitSeq(rendered[name], "\n---") {
			if doc = strings.TrimSpace(strings.TrimPrefix(doc, "---")); doc != "" {
				all = append(all, doc+"\n")
			}
		}
	}
	return all
}

func TestLint(t *testing.T) {
	for _, file := range append([]string{""}, cases(t)...) {
		values := map[string]any{}
		if file != "" {
			values = readValues(t, file)
		}
		for _, m := range lint.All(chartDir, values, "watch", true).Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %v", file, m)
			}
		}
	}
}

// dashboardText is a ConfigMap's copy of the dashboard, which nobody reads there.
var dashboardText = regexp.MustCompile(`(?m)(^  isowatch\.json: \|\n)(?:^    .*\n)+`)

// TestGolden compares what is rendered with testdata/*.yaml, which a person reads.
func TestGolden(t *testing.T) {
	for _, file := range cases(t) {
		name := strings.TrimSuffix(filepath.Base(file), "-values.yaml")
		t.Run(name, func(t *testing.T) {
			rendered, err := render(t, readValues(t, file))
			if err != nil {
				t.Fatal(err)
			}
			got := dashboardText.ReplaceAllString(strings.Join(manifests(rendered), "---\n"), "${1}    {} # deploy/grafana/isowatch.json\n")
			golden := filepath.Join("testdata", name+".yaml")
			if *rewrite {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs: read the difference after go test -run Golden -rewrite\n%s", golden, firstDifference(got, string(want)))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d:\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(g), len(w))
}

// decode reads a manifest into its Kubernetes type; a field that the type does not
// know is an error.
func decode(t *testing.T, doc string) runtime.Object {
	t.Helper()
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := monitoring.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	object, _, err := serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDeserializer().Decode([]byte(doc), nil, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return object
}

// objects renders values and decodes every manifest, strictly.
func objects(t *testing.T, values map[string]any) []runtime.Object {
	t.Helper()
	rendered, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	var all []runtime.Object
	for _, doc := range manifests(rendered) {
		all = append(all, decode(t, doc))
	}
	return all
}

func find[T runtime.Object](t *testing.T, all []runtime.Object) T {
	t.Helper()
	for _, o := range all {
		if x, ok := o.(T); ok {
			return x
		}
	}
	var none T
	t.Fatalf("there is no %T", none)
	return none
}

func TestManifestsAreKubernetes(t *testing.T) {
	for _, file := range cases(t) {
		if got := objects(t, readValues(t, file)); len(got) < 4 {
			t.Errorf("%s: %d objects", file, len(got))
		}
	}
}

func TestPodIsConfined(t *testing.T) {
	pod := find[*appsv1.StatefulSet](t, objects(t, nil)).Spec.Template.Spec
	c := pod.Containers[0].SecurityContext
	if !*pod.SecurityContext.RunAsNonRoot || *c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem ||
		!slices.Contains(c.Capabilities.Drop, corev1.Capability("ALL")) || *pod.AutomountServiceAccountToken {
		t.Errorf("pod %+v, container %+v", pod.SecurityContext, c)
	}
}

// A claim template cannot be changed after the install: neither the chart's version
// nor the app's may be in it, nor in the selector.
func TestUpgradeKeepsWhatIsImmutable(t *testing.T) {
	before := find[*appsv1.StatefulSet](t, objects(t, nil)).Spec
	c := load(t)
	c.Metadata.Version, c.Metadata.AppVersion = "9.9.9", "8.8.8"
	all, err := chartutil.ToRenderValues(c, nil, chartutil.ReleaseOptions{Name: "demo", Namespace: "watch", Revision: 2, IsUpgrade: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	after := decode(t, rendered["isowatch/templates/statefulset.yaml"]).(*appsv1.StatefulSet).Spec
	for _, x := range [][2]any{{before.Selector, after.Selector}, {before.VolumeClaimTemplates, after.VolumeClaimTemplates}, {before.ServiceName, after.ServiceName}} {
		a, _ := yaml.Marshal(x[0])
		b, _ := yaml.Marshal(x[1])
		if !bytes.Equal(a, b) {
			t.Errorf("an upgrade would change\n%sto\n%s", a, b)
		}
	}
	if before.Template.Spec.Containers[0].Image == after.Template.Spec.Containers[0].Image {
		t.Error("the image did not follow appVersion")
	}
}

func TestShardsAreLaidOverConfig(t *testing.T) {
	all := objects(t, map[string]any{
		"config": map[string]any{"memory": "1GiB", "http": map[string]any{"user": "u", "password-env": "P", "trace-url": "http://all/{trace_id}"}},
		"shards": []any{map[string]any{}, map[string]any{"http": map[string]any{"trace-url": "http://two/{trace_id}"}}},
	})
	set := find[*appsv1.StatefulSet](t, all)
	if *set.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *set.Spec.Replicas)
	}
	for i := range 2 {
		name := fmt.Sprintf("demo-isowatch-%d", i)
		if !slices.ContainsFunc(all, func(o runtime.Object) bool {
			s, ok := o.(*corev1.Service)
			return ok && s.Name == name && s.Spec.Selector["statefulset.kubernetes.io/pod-name"] == name
		}) {
			t.Errorf("no Service of shard %d", i)
		}
	}
	data := find[*corev1.ConfigMap](t, all).Data
	var got map[string]any
	if err := yaml.UnmarshalStrict([]byte(data["demo-isowatch-1.yaml"]), &got); err != nil {
		t.Fatal(err)
	}
	pages := got["http"].(map[string]any)
	if got["memory"] != "1GiB" || pages["user"] != "u" || pages["trace-url"] != "http://two/{trace_id}" {
		t.Errorf("shard 1 has %v", got)
	}
	if !strings.Contains(data["demo-isowatch-0.yaml"], "//all/") {
		t.Errorf("shard 0 has %v, shard 1 is laid over it", data["demo-isowatch-0.yaml"])
	}
}

func TestConfigChangeRollsPods(t *testing.T) {
	sum := func(v map[string]any) string {
		return find[*appsv1.StatefulSet](t, objects(t, v)).Spec.Template.Annotations["checksum/config"]
	}
	if a, b := sum(nil), sum(map[string]any{"config": map[string]any{"memory": "9GiB"}}); a == b || a == "" {
		t.Errorf("checksums %q and %q", a, b)
	}
}

func TestMemoryIsToldToTheMonitor(t *testing.T) {
	for memory, want := range map[string]string{"": "--memory=auto", "1GiB": "--memory=1GiB"} {
		v := map[string]any{}
		if memory != "" {
			v["memory"] = memory
		}
		set := find[*appsv1.StatefulSet](t, objects(t, v))
		if args := set.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, want) {
			t.Errorf("memory %q: %q, want %s", memory, args, want)
		}
	}
}

// TestValuesAreChecked: a misspelt value is an error with its name, and a parent
// chart may set what parents set.
func TestValuesAreChecked(t *testing.T) {
	for name, v := range map[string]map[string]any{
		"replicas":                      {"replicas": 3},
		"persistence":                   {"persistence": map[string]any{"siez": "1Gi"}},
		"http":                          {"http": map[string]any{"port": 70000}},
		"terminationGracePeriodSeconds": {"terminationGracePeriodSeconds": 5},
		"secretName":                    {"secretMounts": map[string]any{"kafka": map[string]any{}}},
	} {
		if _, err := render(t, v); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: error %v does not name %s", v, err, name)
		}
	}
	if _, err := render(t, map[string]any{"global": map[string]any{"x": 1}, "enabled": true}); err != nil {
		t.Error(err)
	}
}

// TestEveryValueIsInTheSchema compares the names in values.yaml with the schema's,
// two levels deep.
func TestEveryValueIsInTheSchema(t *testing.T) {
	c := load(t)
	var schema struct {
		Properties map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"properties"`
	}
	if err := yaml.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	for name, p := range schema.Properties {
		value, ok := c.Values[name]
		if !ok && name != "global" && name != "enabled" {
			t.Errorf("values.yaml does not have %s", name)
		}
		inner, _ := value.(map[string]any)
		for sub := range p.Properties {
			if _, ok := inner[sub]; !ok && !strings.HasSuffix(name, "Probe") && name != "resources" {
				t.Errorf("values.yaml does not have %s.%s", name, sub)
			}
		}
	}
}
