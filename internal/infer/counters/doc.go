// Package counters takes increments, and reads of counters.
//
//   - counter.go: a counter whose operations tell no versions is only compared within a transaction
//   - counted.go: one whose operations tell versions is a register, and a version holds a sum
package counters
