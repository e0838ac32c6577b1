// Package testdb runs real PostgreSQL and MariaDB servers for integration tests: each a
// process of its own, on a free port, in a folder that goes with it.
//
// Their programs are those of Debian's packages postgresql and mariadb-server. Where
// they are not installed a test is skipped, unless CI=true says that they must be.
package testdb
