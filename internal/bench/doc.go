// Package bench measures the way from input to durable verdict, each beside a
// consumer that only decodes, in the same run:
//
//	make bench
//
// The events are generated (internal/workload): read-modify-write registers, 4
// operations, 10,000 keys, 64 sessions, 1 ms between the sessions' events, out of
// order within 20 ms; about 280 bytes of JSON each. The engine watches serializable
// alone or all four levels, with a window of 2 s, and commits to a store on disk.
package bench
