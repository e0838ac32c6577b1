//go:build !unix

package child

import "os/exec"

func ownGroup(*exec.Cmd) {}

func (c *child) kill() { _ = c.cmd.Process.Kill() } // it may have ended
