package testkafka

import (
	"context"
	"errors"
	"os"
	"testing"
)

// ForTest launches a broker that ends with the test. Without java or mvn the
// test is skipped, or fails where CI=true: there they must be.
func ForTest(t testing.TB, c Config) *Broker {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	b, err := Launch(context.Background(), c)
	if b != nil {
		t.Cleanup(b.Kill)
	}
	mustRun(t, err)
	return b
}

func mustRun(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrNoTool) && os.Getenv("CI") != "true" {
		t.Skipf("no Kafka, and with CI=true that is a failure: %v", err)
	}
	if err != nil {
		t.Fatalf("no Kafka: %v", err)
	}
}
