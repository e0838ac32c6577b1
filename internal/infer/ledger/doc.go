// Package ledger has what inference knows, as rows: transactions, sessions, keys, versions of keys, and who
// wrote and read which version. A row is named by its number, and 0 is none. Numbers are used again.
//
// The ledger draws no conclusion. It links rows, counts reads by what is known of their versions, and gives edges
// and anomalies out, as the packages above tell it. These packages read and write the fields of rows
// directly, since that is fast. The comment of a field names the kind of data that it is for. Users of
// inference see package infer only.
package ledger
