// Package pattern groups keys by how they are named. The pattern of a key is its name with
// runs of digits, UUIDs and long hexadecimal numbers replaced by "#". A segment between
// "/", ":" and "." that has shown more than 32 texts in its place is replaced too, and what
// was known of the merged patterns holds of the one that they become.
//
// What one key of a pattern shows (that its values repeat) is taken as true of all of them:
// keys of one pattern are rows of one table, and one application writes them.
package pattern
