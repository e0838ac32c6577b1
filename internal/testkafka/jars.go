// Package testkafka runs real Apache Kafka brokers for tests and benchmarks: one
// node or several, KRaft, from the jars of Maven Central. It needs java (17 or later)
// and, the first time, mvn.
package testkafka

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Version of Apache Kafka, as in pom.xml.
const Version = "4.3.1"

// CacheEnv names the folder that keeps the jars (44 MB) between runs. Unset:
// isowatch in the user's cache folder.
const CacheEnv = "ISOWATCH_CACHE"

// ErrNoTool: java or mvn is not installed.
var ErrNoTool = errors.New("not installed")

//go:embed pom.xml
var pom []byte

// jars is the folder with the broker's class path, downloaded when missing.
func jars(ctx context.Context) (string, error) {
	cache := os.Getenv(CacheEnv)
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache folder, set %s: %w", CacheEnv, err)
		}
		cache = filepath.Join(user, "isowatch")
	}
	dir := filepath.Join(cache, "kafka-"+Version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, download(ctx, dir)
}

// download fills a folder beside dir and renames it, so that dir is complete
// whenever it exists, also with several test processes at once.
func download(ctx context.Context, dir string) error {
	mvn, err := tool("mvn")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), pom, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=libs")
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn cannot get Kafka %s: %w\n%s", Version, err, tail(out))
	}
	err = os.Rename(filepath.Join(tmp, "libs"), dir)
	if _, statErr := os.Stat(dir); err != nil && statErr == nil {
		return nil // another process was faster
	}
	return err
}

func tool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, ErrNoTool)
	}
	return path, nil
}

// tail is the end of a program's output: 2 KiB hold a stack trace's head.
func tail(out []byte) []byte { return out[max(0, len(out)-2<<10):] }
