// Package target opens the database that a URL names, for package probe: postgres://,
// mysql:// (mariadb://) and sqlite:///FILE.
package target
