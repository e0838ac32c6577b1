// Package registers decides whole histories of registers at the levels up to causal
// consistency, without a graph of their dependencies: transactions become numbers as
// they come, about 80 bytes for one of 8 operations and 30 for each version, and
// package saturation does the rest.
//
// It only knows histories in which nothing is odd (see [History.Add]), and it finds
// nothing: that a level holds is all that it says. Everything else is for package
// window, which takes several times as long and as much memory, and explains.
package registers
