// Package engine drives the machines of all sources over one store: decode, read the retained state
// that a step needs, step, commit. Nothing is acknowledged to a broker: a committed cursor is all
// there is.
//
//	chunks -> [decode] -> batches -> [step] -> effects -> [commit]
//
// Three goroutines with queues of length 1 between them: while one step is being committed the next is
// computed. One Badger transaction commits the changes of a step with the cursors behind its input.
// After a crash at any instant the input is read again exactly behind the records that counted.
//
// The store keeps the input of each step in compact form (the delta), with the records that were read
// for it. A machine is a pure function of its inputs. So recovery takes the latest snapshot of the
// machines and the deltas behind it. It throws the effects away: they were committed with the deltas.
package engine
