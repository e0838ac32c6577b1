//go:build !unix

package store

import "io/fs"

func diskSize(info fs.FileInfo) int64 { return info.Size() }
