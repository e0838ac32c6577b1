// Package engine drives the machines of all sources over one store: decode, read the
// retained state that a step needs, step, commit. Nothing is acknowledged to a broker:
// a committed cursor is all there is.
//
//	chunks -> [decode] -> batches -> [step] -> effects -> [commit]
//
// Three goroutines with queues of length 1 between them: while one step is being
// committed the next is computed. What a step changed is committed in one Badger
// transaction with the cursors behind its input, so that after a crash at any
// instant the input is read again exactly behind what counted.
//
// What is persisted of a step is its input in compact form (the delta), what was read
// for it included. A machine is a pure function of its inputs, so recovery is the latest snapshot of the
// machines and the deltas behind it, with the effects thrown away: they were
// committed with the deltas.
package engine
