// Package epoch is shared by the databases in which a probe keeps its tables. It names the
// tables of a run, recognises them later, and has a lock that only one probe holds.
package epoch
