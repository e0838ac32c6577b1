// Package window is the state machine of one source: transactions and ticks go
// in, findings and panes come out. [Machine.Step] is pure: no clock, no I/O, no
// goroutine, no map order; the same steps give the same effects, which is what
// recovery by replay rests on.
//
// Beyond a cap, retained state that has gone cold goes out in the effects of a step;
// [Machine.Needs] asks for what a batch touches of it, and [Machine.Bring] takes it
// back.
//
// The watermark trails the slowest input partition by the allowed lateness. A
// transaction has settled when its end plus the window is behind the watermark;
// settled transactions retire from the low end of every level's order, and what
// may be forgotten then is proven in docs/proofs.md (the window theorem).
package window
