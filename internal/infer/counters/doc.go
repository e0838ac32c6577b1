// Package counters takes increments, and reads of counters. It owns what each version of a counter is known to hold.
//
//   - counter.go: what transactions add to counters and read of them, for package window to compare
//   - counted.go: a counter whose operations tell versions is a register, and a version holds a sum
//   - check.go: whether the sums agree
package counters
