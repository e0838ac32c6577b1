// Package window is the state machine of one source: transactions and ticks go in, findings and
// panes come out. [Machine.Step] is pure: no clock, no I/O, no goroutine, no map order. The
// same steps give the same effects. Recovery by replay rests on that.
//
// Beyond a cap, retained state that has gone cold goes out in the effects of a step.
// [Machine.Needs] asks for the part of it that a batch touches, and [Machine.Bring] takes it
// back.
//
// The watermark trails the slowest input partition by the allowed lateness. A transaction has
// settled when its end plus the window is behind the watermark. Settled transactions retire
// from the low end of every level's order. docs/proofs.md proves what may be forgotten then
// (the window theorem).
//
// The package is a part of the monitor. It promises nothing to importers: names and behaviour change
// without notice.
package window
