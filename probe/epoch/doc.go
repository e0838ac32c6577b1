// Package epoch holds what databases have in common in which a probe keeps its tables: how
// the tables of a run are named and known again, and a lock that only one probe holds.
package epoch
