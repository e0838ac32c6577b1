// Package linear checks linearizability of registers while records come. It keeps the bounds that real time puts on
// the versions of a key.
package linear
