// Package registers decides whole histories of registers at the levels up to causal
// consistency, without a graph of their dependencies. Transactions become numbers as they come,
// about 80 bytes for one of 8 operations and 30 for each version. Package saturation does the
// rest.
//
// It only knows histories without oddities (see [History.Add]), and makes no findings: it only
// says that a level holds. Everything else is for package window, which takes several times as
// long and as much memory, and explains.
package registers
