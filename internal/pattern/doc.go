// Package pattern groups keys by how they are named. The pattern of a key is its name with runs
// of digits, UUIDs and long hexadecimal numbers replaced by "#". A segment between "/", ":" and
// "." that has shown more than 32 texts in its place is replaced too. The signs of merged
// patterns hold for the one that they become.
//
// If one key of a pattern shows that its values repeat, that is taken as true of all of them.
// Keys of one pattern are rows of one table, and one application writes them.
package pattern
