// Package trial decides small histories by trying: is there an order of commits that
// explains what all transactions read, at a level? It knows nothing of dependencies, and
// takes operations of every kind: what leaves no edge behind, such as a read that found
// nothing of a key that was deleted, or the sum that a counter showed, is replayed like
// anything else.
//
// From prefix consistency on a transaction reads one state, of its own place in the order or
// an earlier one. Below, each read is of one version of its key, and what is in the past of a
// transaction must not be missing (Biswas and Enea, figure 2). The order grows from its
// beginning: a transaction is put behind the others when what it read is there. The search
// goes back where none can be put, with a budget of steps.
//
// That no order exists is told by a [Core]: a part of the transactions, as small as leaving
// out one after the other makes it, that have no order whatever the others did. A part is
// judged by less than the whole: a read counts only if all that it can be of are in it.
package trial
