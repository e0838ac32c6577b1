package deploytest

import (
	"debug/buildinfo"
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestBillOfMaterials: make sbom names each module that the program was built from, with its version.
func TestBillOfMaterials(t *testing.T) {
	tool := regexp.MustCompile(`(?m)^CYCLONEDX = (\S+)/cmd/\S+(@\S+)$`).FindSubmatch(mustRead(t, "../../Makefile"))
	if tool == nil {
		t.Fatal("the Makefile names no tool")
	}
	if out, err := exec.Command("go", "mod", "download", string(tool[1])+string(tool[2])).CombinedOutput(); err != nil {
		t.Skipf("the tool cannot be loaded: %s", out)
	}
	if out, err := exec.Command("make", "-s", "-C", "../..", "sbom").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var bill struct {
		BOMFormat, SpecVersion, SerialNumber string
		Metadata                             struct{ Component struct{ Name, Type string } }
		Components                           []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(mustRead(t, "../../bin/monitor.cdx.json"), &bill); err != nil {
		t.Fatal(err)
	}
	const program = "github.com/isowatch/isowatch"
	if bill.BOMFormat != "CycloneDX" || bill.SpecVersion < "1.4" || !strings.HasPrefix(bill.SerialNumber, "urn:uuid:") || bill.Metadata.Component.Name != program || bill.Metadata.Component.Type != "application" {
		t.Errorf("it begins with %+v", bill)
	}
	built, err := buildinfo.ReadFile("../../bin/monitor")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{}
	for _, c := range bill.Components {
		if !strings.HasPrefix(c.PURL, "pkg:golang/"+c.Name+"@"+c.Version) {
			t.Errorf("%s %s has the address %s", c.Name, c.Version, c.PURL)
		}
		named[c.Name] = c.Version
	}
	for _, m := range built.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if named[m.Path] != m.Version {
			t.Errorf("%s %s is in the program, and the bill has version %q", m.Path, m.Version, named[m.Path])
		}
	}
	if len(built.Deps) < 20 || built.Path != program+"/cmd/monitor" {
		t.Errorf("the program %s has %d modules", built.Path, len(built.Deps))
	}
}
