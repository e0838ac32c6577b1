//go:build unix

package volume

import (
	"fmt"
	"math"
	"syscall"
)

// Free is how many bytes a user without privileges may still write to the file system
// of dir.
func Free(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	blocks, size := uint64(s.Bavail), uint64(s.Bsize) // their types differ between systems
	if size > 0 && blocks > math.MaxInt64/size {
		return math.MaxInt64, nil
	}
	return int64(blocks * size), nil
}
