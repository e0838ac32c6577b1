//go:build !unix

package file

func deviceOf(string) uint64 { return 0 }
