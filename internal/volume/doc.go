// Package volume says how much may still be written to the file system of a folder. It imports no store, so the
// tests that ask for room in memory do not link one.
package volume
