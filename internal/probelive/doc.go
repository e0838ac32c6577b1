// Package probelive holds tests only: `monitor probe` on real PostgreSQL, MariaDB and
// SQLite, at settings that promise less than is expected of them, at those that keep it,
// across a kill -9 that loses commits, and with a replica that is behind.
package probelive
