//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// diskSize is the size of a file on disk; st_blocks counts 512-byte units on every Unix,
// whatever the file system's block size.
func diskSize(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(stat.Blocks) * 512
	}
	return info.Size()
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
