//go:build unix

package file

import (
	"os"
	"syscall"
)

// deviceOf is the file system that a file is on; 0: not known.
func deviceOf(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if x, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(x.Dev)
	}
	return 0
}
