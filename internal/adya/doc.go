// Package adya holds a test only. It compares the checker with adya 0.1.0 (crates.io/crates/adya), a
// checker of another's making after Elle: on random histories, level by level. The test classifies
// every cell where the two differ, by a reason that it checks.
//
// It is run by hand, with the program's path in ISOWATCH_ADYA: make adya.
package adya
