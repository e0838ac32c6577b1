// Package whole checks histories that have an end: files, what a replay reads, and what a
// test recorded. It keeps nothing and needs no store. Each source of a history has a
// machine of package window of its own.
package whole
