//go:build integration

package testdb

import (
	"os"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	os.WriteFile("/tmp/wc/pg", []byte(Postgres(t)), 0o600)
	os.WriteFile("/tmp/wc/maria", []byte(MariaDB(t)), 0o600)
	for range 3600 {
		time.Sleep(time.Second)
		if _, err := os.Stat("/tmp/wc/stop"); err == nil {
			return
		}
	}
}
