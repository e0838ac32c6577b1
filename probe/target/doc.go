// Package target opens the database that a URL names, for package probe: postgres://,
// mysql:// (mariadb://), sqlite:///FILE, a simulated one (sim:LEVEL), and any for which a
// command speaks (exec:COMMAND).
package target
