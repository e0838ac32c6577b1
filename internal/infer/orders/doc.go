// Package orders has versions whose order records give: by a number, by commit timestamps, or in part, as sessions
// and real time met them. It owns the visits of keys, and the order in part that follows from them.
//
//   - ordered.go: versions with a number stand in the spine of their key
//   - partial.go, visit.go: visits of a key that follow each other order its versions in part
//   - version_cycle.go: an order that contradicts itself is reported, and given up
//   - rows.go: neighbours in the order may be of two rows
//   - retire.go: a version leaves memory
package orders
