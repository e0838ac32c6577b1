// Package target opens the database that a URL names, for package probe. It knows postgres://,
// mysql:// (mariadb://), sqlite:///FILE, a simulated store (sim:LEVEL), and a command that
// speaks for any database (exec:COMMAND).
package target
