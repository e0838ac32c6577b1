package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestMonitorTakesTheConfigurations has the monitor itself judge every configuration
// file that the chart renders, and that of the compose example.
func TestMonitorTakesTheConfigurations(t *testing.T) {
	dir := t.TempDir()
	monitor := buildMonitor(t)
	files := []string{"../compose/isowatch.yaml"}
	for _, c := range cases(t) {
		for name, text := range find[*corev1.ConfigMap](t, objects(t, readValues(t, c))).Data {
			file := filepath.Join(dir, filepath.Base(c)+"."+name)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	if len(files) < 5 {
		t.Fatalf("only %v", files)
	}
	for _, file := range files {
		if out, err := exec.Command(monitor, "config", "check", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}
