package deploytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestHelmTest runs the pod of "helm test" as a process, against a monitor with the chart's configuration. It publishes
// an anomaly to the broker, and finds it. Without a broker the monitor plants one. One that plants nothing has no test.
func TestHelmTest(t *testing.T) {
	monitor, port := buildMonitor(t), freeAddress(t)
	_, number, _ := strings.Cut(port, ":")
	broker := run(t, t.TempDir(), monitor, "run", "--http", "off", "--data", filepath.Join(t.TempDir(), "data"), "--nats-port", number, "--output", "log")
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	nats := map[string]any{"inputs": []any{map[string]any{"nats": map[string]any{"urls": []any{"nats://" + port}, "stream": "ISOWATCH"}}}}
	for said, values := range map[string]map[string]any{
		"found the anomaly that was published to nats:ISOWATCH": {"selfTest": "2m", "config": nats},
		"found the anomaly that it planted":                     {"selfTest": "5s"},
	} {
		values["tests"] = map[string]any{"args": []any{"--patience", "1m"}}
		if out, err := helmTest(t, monitor, values).CombinedOutput(); err != nil || !strings.Contains(string(out), said) {
			t.Errorf("%v, want %s\n%s", err, said, out)
		}
	}
	for _, o := range objects(t, map[string]any{"selfTest": ""}) {
		if _, ok := o.(*corev1.Pod); ok {
			t.Error("a test of a monitor that plants nothing")
		}
	}
	pod := find[*corev1.Pod](t, objects(t, map[string]any{"tests": map[string]any{"publish": false}}))
	if slices.Contains(pod.Spec.Containers[0].Args, "--config") {
		t.Errorf("it publishes, and should not: %q", pod.Spec.Containers[0].Args)
	}
}

// TestHelmTestOfGroup: with group, the pod publishes an anomaly to what the members share, and finds it on the pages of the
// first pod, whichever member watches it.
func TestHelmTestOfGroup(t *testing.T) {
	monitor, port := buildMonitor(t), freeAddress(t)
	_, number, _ := strings.Cut(port, ":")
	broker := run(t, t.TempDir(), monitor, "run", "--http", "off", "--data", filepath.Join(t.TempDir(), "data"), "--nats-port", number, "--output", "log")
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	values := groupValues(map[string]any{"replicas": 2, "state": "nats://" + port + "/STATE"})
	values["config"] = map[string]any{"inputs": []any{map[string]any{"nats": map[string]any{"urls": []any{"nats://" + port}, "stream": "ISOWATCH"}}}}
	values["tests"] = map[string]any{"args": []any{"--patience", "2m"}}
	all := objects(t, values)
	config := filepath.Join(t.TempDir(), "group.yaml")
	if err := os.WriteFile(config, []byte(find[*corev1.ConfigMap](t, all).Data["group.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	var first string
	for _, member := range []string{"demo-isowatch-1", "demo-isowatch-0"} {
		first = freeAddress(t)
		dir := t.TempDir()
		if err := run(t, dir, monitor, "run", "--config", config, "--group-member", member, "--data", filepath.Join(dir, "data"), "--http", first).Start(); err != nil {
			t.Fatal(err)
		}
	}
	args := slices.Clone(find[*corev1.Pod](t, all).Spec.Containers[0].Args)
	for asked, there := range map[string]string{"http://demo-isowatch-0.demo-isowatch-pods.watch:8080": "http://" + first, "/etc/isowatch/config/group.yaml": config} {
		i := slices.Index(args, asked)
		if i < 0 {
			t.Fatalf("the pod does not name %s: %q", asked, args)
		}
		args[i] = there
	}
	if out, err := exec.Command(monitor, args...).CombinedOutput(); err != nil || !strings.Contains(string(out), "found the anomaly that was published to nats:ISOWATCH") {
		t.Errorf("%v\n%s", err, out)
	}
	values["tests"] = map[string]any{"publish": false}
	for _, o := range objects(t, values) {
		if _, ok := o.(*corev1.Pod); ok {
			t.Error("a test of a group that nothing is published to")
		}
	}
}

// helmTest starts a monitor with the chart's configuration, and is the command of the pod that tests it.
func helmTest(t *testing.T, monitor string, values map[string]any) *exec.Cmd {
	t.Helper()
	all := objects(t, values)
	dir, address := t.TempDir(), freeAddress(t)
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte(find[*corev1.ConfigMap](t, all).Data["demo-isowatch-0.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "--config", config, "--data", filepath.Join(dir, "data"), "--http", address}
	if values["config"] == nil {
		args = append(args, "--nats-port", "0")
	}
	if err := run(t, dir, append([]string{monitor}, args...)...).Start(); err != nil {
		t.Fatal(err)
	}
	args = slices.Clone(find[*corev1.Pod](t, all).Spec.Containers[0].Args)
	for asked, there := range map[string]string{
		"http://demo-isowatch-0.demo-isowatch-pods.watch:8080": "http://" + address, "/etc/isowatch/config/demo-isowatch-0.yaml": config,
	} {
		i := slices.Index(args, asked)
		if i < 0 {
			t.Fatalf("the pod does not name %s: %q", asked, args)
		}
		args[i] = there
	}
	return exec.Command(monitor, args...)
}

// TestIngress: each shard is at a path of its own, at which its monitor expects to be: the alerts link there.
func TestIngress(t *testing.T) {
	ingress := map[string]any{"enabled": true, "host": "watch.example", "path": "/db/"}
	shards := []any{map[string]any{}, map[string]any{"http": map[string]any{"external-url": "http://elsewhere"}}}
	data := find[*corev1.ConfigMap](t, objects(t, map[string]any{"ingress": ingress, "shards": shards})).Data
	url := regexp.MustCompile("external-url: (.*)")
	for i, want := range []string{"http://watch.example/db/0", "http://elsewhere"} {
		if got := url.FindStringSubmatch(data[fmt.Sprintf("demo-isowatch-%d.yaml", i)]); got == nil || got[1] != want {
			t.Errorf("shard %d is at %q, want %q", i, got, want)
		}
	}
	ingress["path"], ingress["tlsSecret"] = "/", "cert"
	if got := find[*corev1.ConfigMap](t, objects(t, map[string]any{"ingress": ingress})).Data["demo-isowatch-0.yaml"]; !strings.Contains(got, "external-url: https://watch.example/\n") {
		t.Errorf("one pod has\n%s", got)
	}
	if _, err := render(t, map[string]any{"ingress": map[string]any{"enabled": true}}); err == nil || !strings.Contains(err.Error(), "ingress.host") {
		t.Errorf("without a host: %v", err)
	}
}
