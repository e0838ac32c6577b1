//go:build !linux

package testkafka

import "os/exec"

// dieWithParent has no counterpart here: Stop must be called.
func dieWithParent(*exec.Cmd) {}
