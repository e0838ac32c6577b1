// Package registers decides whole histories of registers and lists, without a graph of their
// dependencies. Transactions become numbers as they come, about 80 bytes for one of 8 operations
// and 35 for each version.
//
// First it looks for a serial order in which every read sees what the latest writer left. Such an
// order satisfies every level. Where there is none, or none is found, package saturation decides the
// levels up to causal consistency, of registers.
//
// It only knows histories without oddities (see [History.Add]), and makes no findings: it only
// says that a level holds. Everything else is for package window, which takes several times as
// long and as much memory, and explains.
package registers
