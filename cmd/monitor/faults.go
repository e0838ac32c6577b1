package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// commandWait bounds a command that breaks or heals.
const commandWait = time.Minute

// faultMark is the name of the marks. The commands are in no record: they may hold secrets.
const faultMark = "fault"

// faults are shell commands that break the database's surroundings, and heal them.
type faults struct {
	command, heal string
	every, last   time.Duration

	ran, failed int   // faults, and commands of them
	broken      error // of the latest heal
}

func (x *faults) register(f *pflag.FlagSet) {
	f.StringVar(&x.command, "fault", "", "shell command that breaks something in the test environment; it runs every --fault-every")
	f.StringVar(&x.heal, "heal", "", "shell command that repairs it; it runs after each --fault, and at the end")
	f.DurationVar(&x.every, "fault-every", x.every, "time from the start of a fault to the start of the next one")
	f.DurationVar(&x.last, "fault-for", x.last, "time from a fault to its --heal")
}

func (x *faults) validate() error {
	switch {
	case x.command == "" && x.heal != "":
		return usagef("--heal needs --fault")
	case x.last <= 0:
		return usagef("--fault-for %v: must be positive", x.last)
	case x.every <= x.last:
		return usagef("--fault-every %v: must be longer than --fault-for, which is %v", x.every, x.last)
	}
	return nil
}

// run breaks and heals by turns until ctx ends, and leaves nothing broken. A fault that would
// not be over by ctx's deadline is none. mark is told when one begins and when it is over.
func (x *faults) run(ctx context.Context, t *terminal, mark func(event.Mark)) {
	if x.command == "" {
		return
	}
	next := time.NewTimer(x.every)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		if end, limited := ctx.Deadline(); limited && time.Until(end) < x.last {
			return
		}
		next.Reset(x.every)
		x.once(ctx, t, mark)
	}
}

// once breaks, waits and heals.
func (x *faults) once(ctx context.Context, t *terminal, mark func(event.Mark)) {
	over, healed := x.healing(t)
	defer over()
	m := event.Mark{Name: faultMark, Start: time.Now().UnixNano()}
	mark(m)
	x.ran++
	end := time.NewTimer(x.last)
	defer end.Stop()
	said := x.shell(ctx, t, "--fault", x.command)
	select {
	case <-ctx.Done():
	case <-end.C:
	}
	if x.heal != "" {
		x.broken = x.shell(context.WithoutCancel(ctx), t, "--heal", x.heal)
		close(healed)
		said = errors.Join(said, x.broken)
	}
	m.End, m.HasEnd = max(time.Now().UnixNano(), m.Start), true
	if said != nil {
		m.Text = strings.ReplaceAll(said.Error(), "\n", "; ")
	}
	mark(m)
}

// healing has a second signal wait for the heal, which the first one begins.
func (x *faults) healing(t *terminal) (over func(), healed chan struct{}) {
	healed = make(chan struct{})
	if x.heal == "" {
		return func() {}, healed
	}
	return t.undo.add(func() {
		t.say("monitor: the --heal command runs; another signal ends monitor without waiting for it")
		<-healed
	}), healed
}

// shell runs a command. It is in a process group of its own, so that Ctrl-C does not reach
// it. The error says how it ended, and nothing of the command. A command that the end of run
// cuts short has not failed.
func (x *faults) shell(run context.Context, t *terminal, flag, command string) error {
	ctx, cancel := context.WithTimeout(run, commandWait)
	defer cancel()
	c := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second // what it started may keep its output open
	var output tail
	c.Stdout, c.Stderr = &output, &output
	err := c.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it has ended well, and something that it started goes on
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = errors.New("ended before it was done")
	}
	if run.Err() != nil {
		return fmt.Errorf("the %s command: %w", flag, err)
	}
	x.failed++
	t.say("monitor: warning: the %s command: %v%s", flag, err, output.lastLine())
	return fmt.Errorf("the %s command: %w", flag, err)
}

// maxTail is how many bytes are kept of a command's output.
const maxTail = 4 << 10

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (x *tail) Write(p []byte) (int, error) {
	x.text = append(x.text, p...)
	x.text = x.text[max(0, len(x.text)-maxTail):]
	return len(p), nil
}

// lastLine is the last line of the output, for a message; "" when there was none.
func (x *tail) lastLine() string {
	lines := bytes.Split(bytes.TrimSpace(x.text), []byte("\n"))
	if last := lines[len(lines)-1]; len(last) > 0 {
		return ": " + printable(string(last))
	}
	return ""
}

// summary tells how the faults went; "" without one.
func (x *faults) summary() string {
	if x.ran == 0 {
		return ""
	}
	text := number(x.ran, "fault")
	if x.failed > 0 {
		text += "; " + number(x.failed, "command") + " failed"
	}
	if x.broken != nil {
		text += "; the last --heal failed: the environment may still be broken"
	}
	return text
}

// number is n things.
func number(n int, thing string) string { return finding.Counted(int64(n), thing, thing+"s") }
