package testkafka

import (
	"os"
	"os/exec"
	"runtime"
)

// process is a started command.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startProcess starts cmd so that it does not outlive this process. Linux ties
// that to the thread that forked, hence the locked goroutine that waits.
func startProcess(cmd *exec.Cmd) (*process, error) {
	dieWithParent(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is for the broker's log
		}
		close(p.done)
	}()
	return p, <-started
}

// signal has no effect on a process that has ended.
func (p *process) signal(s os.Signal) {
	if p != nil {
		_ = p.cmd.Process.Signal(s)
	}
}
