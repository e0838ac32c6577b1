// Package ormtest tests package capture with libraries that stand on database/sql: sqlx and
// GORM. It is a module of its own, so that a user of capture does not depend on them.
package ormtest
