// Package child lets a command speak for a database that a probe runs on. Each session has a
// process. It gets a transaction a line and answers with a line.
package child
