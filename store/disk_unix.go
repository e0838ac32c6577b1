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

// writable is nil if this process may make files in a folder.
func writable(dir string) error {
	const write, search = 2, 1
	if err := syscall.Access(dir, write|search); err != nil {
		return &fs.PathError{Op: "write", Path: dir, Err: err}
	}
	return nil
}

// Lock keeps a folder from other processes until unlock. Its error is ErrLocked if another one has it.
func Lock(dir string) (unlock func(), err error) { return tryLock(dir, false) }

// tryLock takes the lock that Badger takes, on the folder, for a moment.
func tryLock(dir string, shared bool) (unlock func(), err error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	if err := syscall.Flock(int(d.Fd()), how|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		d.Close()
		return nil, ErrLocked
	}
	return func() {
		syscall.Flock(int(d.Fd()), syscall.LOCK_UN) // a process that is just being forked has the file open too, until it executes
		d.Close()
	}, nil // another error: a file system without locks. Badger says more
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
