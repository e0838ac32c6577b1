//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// ownGroup has the command lead a process group. So a signal for the terminal's group does not
// reach it. And it can be killed with all that it has started.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (c *child) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) } // it may have ended
