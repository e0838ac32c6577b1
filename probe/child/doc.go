// Package child lets a command speak for a database that a probe runs on: one process a
// session, which gets a transaction a line and answers with a line.
package child
