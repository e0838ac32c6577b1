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

// TestHelmTest runs the pod of "helm test" as a process, against a monitor with the chart's configuration:
// it plants an anomaly and finds it. A monitor that plants nothing fails it.
func TestHelmTest(t *testing.T) {
	all := objects(t, map[string]any{"selfTest": "5s", "tests": map[string]any{"args": []any{"--patience", "1m"}}})
	monitor, dir, address := buildMonitor(t), t.TempDir(), freeAddress(t)
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte(find[*corev1.ConfigMap](t, all).Data["demo-isowatch-0.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	service := run(t, dir, monitor, "run", "--config", config, "--data", filepath.Join(dir, "data"), "--http", address, "--nats-port", "0")
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	args := slices.Clone(find[*corev1.Pod](t, all).Spec.Containers[0].Args)
	if i := slices.Index(args, "http://demo-isowatch-0.demo-isowatch-pods.watch:8080"); i < 0 {
		t.Fatalf("the pod asks nobody: %q", args)
	} else {
		args[i] = "http://" + address
	}
	if out, err := exec.Command(monitor, args...).CombinedOutput(); err != nil || !strings.Contains(string(out), "found the anomaly") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, o := range objects(t, map[string]any{"selfTest": ""}) {
		if _, ok := o.(*corev1.Pod); ok {
			t.Error("a test of a monitor that plants nothing")
		}
	}
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
