//go:build !linux

package store

func giveBack([]byte) {}
