// Package simtest runs the engine of one source through histories and scenarios:
// random ones against internal/oracle, and text files that a person reads.
package simtest
