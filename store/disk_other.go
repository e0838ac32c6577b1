//go:build !unix

package store

import "io/fs"

func diskSize(info fs.FileInfo) int64 { return info.Size() }

func writable(string) error { return nil }

// Lock does nothing: folders cannot be locked everywhere.
func Lock(string) (unlock func(), err error) { return func() {}, nil }

// tryLock leaves that to Badger.
func tryLock(string, bool) (unlock func(), err error) { return func() {}, nil }

// syncDir does nothing: folders cannot be synced everywhere.
func syncDir(string) error { return nil }
