// Package sim is a database in memory for package probe, which keeps one isolation level
// and no stronger one: to see what a probe finds without a database.
package sim
