// Package ormtest tests package capture with libraries that stand on database/sql: sqlx and
// GORM. It is a module of its own, so that who uses capture depends on none of them.
package ormtest
