//go:build linux && (amd64 || arm64) && !race

package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"

	"github.com/isowatch/isowatch/internal/flat"
)

// A snapshot is the memory of the machines at one instant. The system can keep that. A child that
// is a copy of this process shares its memory, and a page is copied when this process changes it. So
// a step stands still for some 10 ms a gigabyte; a copy takes 200 ms. The state is not in memory
// twice. The child writes arrays into a pipe and ends.
//
// The child has one thread, and whatever lock another thread held stays locked in it. So it calls
// nothing but the system, grows no stack and takes no signal, as the child of [syscall.ForkExec]
// before its exec.

// span is memory that the child writes.
type span struct {
	at   unsafe.Pointer
	size uintptr
}

// instant reads the parts as they are at the call.
func instant(parts []flat.Part) (io.ReadCloser, error) {
	spans := make([]span, len(parts))
	for i := range parts {
		b := parts[i].Memory
		spans[i] = span{unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b))}
	}
	if len(spans) == 0 {
		return nil, errors.New("no state")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	to := w.Fd()
	_, _, _ = syscall.RawSyscall(syscall.SYS_FCNTL, to, fSetPipeSize, 1<<20) // a hint
	pid, number := writeAside(to, &spans[0], uintptr(len(spans)))
	closeErr := w.Close()
	if number != 0 {
		return nil, errors.Join(fmt.Errorf("fork: %w", number), closeErr, r.Close())
	}
	return &childOutput{r, int(pid)}, nil
}

// childOutput reads from the pipe of a child.
type childOutput struct {
	*os.File
	pid int
}

func (c *childOutput) child() int { return c.pid }

// Close ends the child, unless it has ended.
func (c *childOutput) Close() error {
	err := c.File.Close()
	_ = syscall.Kill(c.pid, syscall.SIGKILL)
	for {
		_, waitErr := syscall.Wait4(c.pid, nil, 0, nil)
		if !errors.Is(waitErr, syscall.EINTR) {
			return errors.Join(err, waitErr)
		}
	}
}

const (
	fSetPipeSize  = 1031
	closeRange    = 436 // on all architectures
	parentDeath   = 1   // PR_SET_PDEATHSIG
	sigSetMask    = 2
	writeAtOnce   = 1 << 20
	signalSetSize = 8
)

// writeAside makes the child. It must not be preempted between the two masks.
//
//go:norace
//go:nosplit
//go:noinline
func writeAside(to uintptr, spans *span, n uintptr) (pid uintptr, number syscall.Errno) {
	all, before := ^uint64(0), uint64(0)
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigSetMask, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&before)), signalSetSize, 0, 0)
	pid, _, number = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if number != 0 || pid != 0 {
		syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigSetMask, uintptr(unsafe.Pointer(&before)), 0, signalSetSize, 0, 0)
		return pid, number
	}
	// The child. It goes with its parent, and holds no file of it open.
	syscall.RawSyscall(syscall.SYS_PRCTL, parentDeath, uintptr(syscall.SIGKILL), 0)
	if to > 0 {
		syscall.RawSyscall(closeRange, 0, to-1, 0)
	}
	syscall.RawSyscall(closeRange, to+1, ^uintptr(0)>>32, 0)
	for i := uintptr(0); i < n; i++ {
		x := (*span)(unsafe.Add(unsafe.Pointer(spans), i*unsafe.Sizeof(span{})))
		for done := uintptr(0); done < x.size; {
			wrote, _, failed := syscall.RawSyscall(syscall.SYS_WRITE, to, uintptr(x.at)+done, min(x.size-done, writeAtOnce))
			if failed == syscall.EINTR {
				continue
			}
			if failed != 0 {
				syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 1, 0, 0)
			}
			done += wrote
		}
	}
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
}
