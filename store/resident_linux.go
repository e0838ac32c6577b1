package store

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// pageOut is MADV_PAGEOUT of Linux 5.4: pages leave the memory. It changes no content. So it does no harm where
// Badger has just unmapped a file, and something else is mapped there.
const pageOut = 21

// residentFiles is the memory of mapped files in this process, bytes: the program's own too.
func residentFiles() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return 0, fmt.Errorf("statm: %d fields", len(fields))
	}
	pages, err := strconv.ParseInt(fields[2], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// shed takes the store's tables out of this process's memory. They stay mapped, and are read from the disk, or
// from the page cache, when they are used.
func shed(dir string) error {
	dir, err := realDir(dir)
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		at, name, found := strings.Cut(lines.Text(), " /")
		if !found || !isTable("/"+name, dir) {
			continue
		}
		var from, to uintptr
		if n, err := fmt.Sscanf(at, "%x-%x", &from, &to); n != 2 {
			return fmt.Errorf("maps: %q: %w", at, err)
		}
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, from, to-from, pageOut); errno != 0 && errno != syscall.ENOMEM { // unmapped meanwhile
			return fmt.Errorf("madvise: %w", errno)
		}
	}
	return nil
}

// realDir is the folder as the kernel names files in it: absolute, and without symbolic links.
func realDir(dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

func isTable(file, dir string) bool {
	return strings.HasPrefix(file, dir+"/") && (strings.HasSuffix(file, ".sst") || strings.HasSuffix(file, ".vlog"))
}
