// Package guides holds tests only: they run the code and the commands of docs/python.md,
// docs/java.md and docs/start.md as they stand there, and make the table of docs/databases.md.
package guides
