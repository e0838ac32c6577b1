package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/isowatch/isowatch/internal/config"
)

const (
	// temporaryFolder begins the names of temporary data folders. Each is locked by its process, and so
	// nobody's any more when it can be locked.
	temporaryFolder = "isowatch-data-"
	// unlockedFolder begins the name until it is locked.
	unlockedFolder = "isowatch-new-"
)

// temporaryData gives the run a folder of its own; remove deletes it. Folders of processes that were
// killed are deleted first.
func temporaryData(t *terminal, s *config.Service) (remove func(), err error) {
	removeAbandoned()
	dir, err := os.MkdirTemp("", unlockedFolder)
	if err != nil {
		return nil, err
	}
	unlock := func() {}
	if free, locked := lockFolder(dir); locked {
		name := strings.Replace(dir, unlockedFolder, temporaryFolder, 1)
		if os.Rename(dir, name) == nil {
			dir = name
		}
		unlock = free
	}
	s.Data = dir
	done := t.undo.add(func() { removeInUse(dir) })
	return func() {
		os.RemoveAll(dir)
		unlock()
		done()
	}, nil
}

// temporary says whether the folder is one of temporaryData.
func temporary(dir string) bool {
	name := filepath.Base(dir)
	return filepath.Dir(dir) == filepath.Clean(os.TempDir()) && (strings.HasPrefix(name, temporaryFolder) || strings.HasPrefix(name, unlockedFolder))
}

// removeInUse deletes a folder that its process may still write to.
func removeInUse(dir string) {
	for range 10 {
		if os.RemoveAll(dir) == nil {
			return
		}
	}
}

// lockFolder has the folder locked for as long as the process lives; locked says that nobody else had it.
func lockFolder(dir string) (free func(), locked bool) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, false
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		f.Close()
		return nil, false
	}
	return func() { f.Close() }, true
}

// removeAbandoned deletes the temporary folders of this user's processes that are gone.
func removeAbandoned() {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), temporaryFolder+"*")) // the pattern is right
	for _, dir := range found {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		if of, known := info.Sys().(*syscall.Stat_t); !known || int(of.Uid) != os.Geteuid() {
			continue
		}
		if free, locked := lockFolder(dir); locked {
			os.RemoveAll(dir)
			free()
		}
	}
}
