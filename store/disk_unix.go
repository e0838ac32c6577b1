//go:build unix

package store

import (
	"io/fs"
	"syscall"
)

// diskSize is what a file takes on disk; st_blocks counts 512-byte units on
// every Unix, whatever the file system's block size.
func diskSize(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(stat.Blocks) * 512
	}
	return info.Size()
}
