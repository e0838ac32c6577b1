// Package live holds tests only: real PostgreSQL, MariaDB and SQLite under a client of
// the project's own (package probe), whose records go live through a nats-server to the
// program, delayed at random. A webhook counts what is alerted: nothing where a
// database keeps its promise, and while the stream still runs where it gives less. Connections
// stepped by hand show that each anomaly that certainly happened is alerted by its name.
package live
