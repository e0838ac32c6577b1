// Package infertest runs histories through inference: records in, and what follows from them out. Each package of
// inference has histories of its own in testdata.
package infertest
