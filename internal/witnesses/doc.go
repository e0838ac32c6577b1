// Package witnesses reads and prints witnesses as text, for tests. A file holds witnesses,
// and after each one what is to be said of it when some of its lines are others:
//
//	witness lost update
//	# Prose.
//	set anomaly=divergence key=x value=1
//	txn A session=a start=0 end=10: read x 1, write x 2
//	txn B: read x 1, write x 3
//	edge 1: A -rw x=3-> B
//	edge 2: B -rw x=2-> A
//	accepts
//
//	but B aborted
//	txn B status=aborted: read x 1, write x 3
//	refuses: an aborted transaction takes part
//
// A line of a "but" takes the place of the one with the same two first words, or is added;
// with "no" before these two words, the line is left out. Transactions are in the text form
// of package workload, with the fields epoch, commit and stale beside. "edge 1.1" is the
// first step of the past of "edge 1". Times are ns.
package witnesses
