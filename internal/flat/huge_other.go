//go:build !linux

package flat

func adviseHuge([]byte) {}
