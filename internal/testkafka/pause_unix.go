//go:build unix

package testkafka

import "syscall"

// Pause stops the process as a machine does that hangs, until Resume.
func (b *Broker) Pause() { b.process.signal(syscall.SIGSTOP) }

// Resume continues after Pause.
func (b *Broker) Resume() { b.process.signal(syscall.SIGCONT) }
