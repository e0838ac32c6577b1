// Package trial decides small histories by trying. Is there an order of commits that explains
// the reads of all transactions, at a level? It knows nothing of dependencies, and takes
// operations of every kind. Some leave no edge behind, such as an empty read of a deleted key,
// or the sum that a counter showed. They are replayed like anything else.
//
// From prefix consistency on a transaction reads one state, of its own place in the order or an
// earlier one. Below, each read is of one version of its key. No write in the past of a
// transaction may be missing (Biswas and Enea, figure 2). The order grows from its beginning. A
// transaction is put behind the others when the versions that it read are there. The search
// goes back where none can be put, with a budget of steps.
//
// A [Core] shows that no order exists. It is a part of the transactions that have no order,
// whatever the others did. It is as small as leaving out one after the other makes it. A part
// is judged by less than the whole: a read counts only if all its possible sources are in the
// part.
package trial
