package main

import "sync"

// undoing holds the steps that leave nothing behind, however the process ends. Each step runs where
// its own command ends. A second signal runs all of them while the command still runs.
type undoing struct {
	mu    sync.Mutex
	next  int
	steps map[int]func()
}

// add has run take the step, until done.
func (u *undoing) add(step func()) (done func()) {
	if u == nil {
		return func() {}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.steps == nil {
		u.steps = map[int]func(){}
	}
	n := u.next
	u.next++
	u.steps[n] = step
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.steps, n)
	}
}

// run takes the steps that are left, the latest first.
func (u *undoing) run() {
	for {
		step := u.latest()
		if step == nil {
			return
		}
		step()
	}
}

// latest takes a step out; nil: there is none.
func (u *undoing) latest() (step func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.next > 0 && step == nil {
		u.next--
		step = u.steps[u.next]
		delete(u.steps, u.next)
	}
	return step
}
