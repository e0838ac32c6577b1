// Package testdb runs real PostgreSQL, MariaDB and MySQL servers, and PgBouncer, for integration
// tests: each a process of its own, on a free port, in a folder that goes with it.
//
// Their programs are those of Debian's packages postgresql, mariadb-server and pgbouncer; those of MySQL
// come from Maven Central by mvn. Where they are missing a test is skipped, unless CI=true
// says that they must be there.
package testdb
