// Package linear checks linearizability of registers while records come. It owns the position of each version: the
// bounds that real time puts on the operations above and below it. Positions are kept only if linearizability is
// asked for. They never go to disk: a key that comes back has none.
package linear
