package testkafka

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProperties(t *testing.T) {
	p := ports{Port: 1, SecurePort: 2, ControllerPort: 3}
	text, err := properties("/data/k", p, map[string]string{"num.partitions": "7", "a.b": "c=d"})
	if err != nil {
		t.Fatal(err)
	}
	got := last(t, string(text))
	want := map[string]string{
		"listeners":                "PLAINTEXT://127.0.0.1:1,SECURE://127.0.0.1:2,CONTROLLER://127.0.0.1:3",
		"controller.quorum.voters": "1@127.0.0.1:3",
		"log.dirs":                 "/data/k/data",
		"num.partitions":           "7", // ours was 1: the later line wins in Java
		"a.b":                      "c=d",
		"listener.name.secure.ssl.keystore.location": "/data/k/broker.pem",
		"transaction.state.log.min.isr":              "1",
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s = %q, want %q", k, got[k], v)
		}
	}
}

// last reads properties as Java does: of two lines with one key, the later.
func last(t *testing.T, text string) map[string]string {
	t.Helper()
	got := make(map[string]string)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok {
			t.Errorf("line %q is no property", line)
		}
		got[k] = v
	}
	return got
}

func TestFreePortsDiffer(t *testing.T) {
	p, err := freePorts()
	if err != nil {
		t.Fatal(err)
	}
	if p.Port == p.SecurePort || p.Port == p.ControllerPort || p.SecurePort == p.ControllerPort || p.Port == 0 {
		t.Errorf("ports %+v are not three", p)
	}
}

func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	if err := writeCertificates(dir, now); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	broker, err := os.ReadFile(filepath.Join(dir, "broker.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if first, _ := pem.Decode(broker); first == nil || first.Type != "PRIVATE KEY" {
		t.Error("broker.pem does not begin with the PKCS #8 key that Kafka needs")
	}
	pair, err := tls.X509KeyPair(broker, broker)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: "example.org", Roots: roots, CurrentTime: now}); err == nil {
		t.Error("the certificate holds for a host that it does not name")
	}
}

func TestToolMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Launch(t.Context(), Config{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "java: not installed") {
		t.Errorf("error %v, want one that names java", err)
	}
}
