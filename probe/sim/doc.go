// Package sim is a database in memory for package probe. It keeps one isolation level and no
// stronger one. So one can see what a probe finds without a database.
package sim
