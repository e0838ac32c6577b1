package isolation

import "strings"

// MeaningOf says in one or two sentences what an anomaly means in practice.
func MeaningOf(anomaly string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(anomaly, "-process"), "-realtime")
	switch {
	case name != anomaly && strings.HasPrefix(name, "G-single"):
		return "A client was shown old data as if they were current."
	case name == "G-nonadjacent" || name == "G-single" || name == "G2":
		name += "-item"
	}
	return meanings[name]
}

var meanings = map[string]string{
	"G0":                     "The data mix the writes of two transactions. Rows that belong together no longer fit.",
	"G1a":                    "Somebody decided on data that never existed.",
	"G1b":                    "Somebody decided on data that were half done.",
	"G1c":                    "Transactions saw each other before they committed. Nothing that rests on them is sure.",
	"G-single-item":          "The transaction saw data that were never there together. Its results may be wrong.",
	"G-nonadjacent-item":     "Readers do not agree about what happened first. Their decisions may not fit together.",
	"G2-item":                "Each transaction is right by itself, and together they may break a rule: a room booked twice, an account overdrawn.",
	"lost-update":            "One of the two writes is gone, and its client was told that it succeeded. Sums and counts are wrong from now on.",
	"internal":               "The transaction cannot trust its own reads.",
	"dirty-update":           "Data of a transaction that was rolled back have survived.",
	"incompatible-order":     "Two clients hold two histories of the same list. Data may have been lost.",
	"duplicate-elements":     "One write took effect twice.",
	"future-read":            "The answer does not belong to this operation.",
	"garbage-read":           "The data hold a value that nobody wrote: damage, or a writer that is not recorded.",
	"cyclic-versions":        "The versions of a key are not in any order: the database, the clocks, or what the contract says of them is wrong.",
	"nonlinearizable":        "A client was shown an old state of the key as if it were current.",
	"unattributed-read":      "Somebody writes without being recorded, or wrote before. Fewer reads can be decided.",
	"contradictory-record":   "One of two records of a transaction is wrong. Everything that rests on it stays undecided.",
	"session-not-sequential": "The session is not a single client, so its order is not used. The level with session order cannot be decided.",
	"weaker-than-expected":   "The database keeps its promise, and these transactions do not ask for enough of it.",
	"horizon":                "Whether this is an anomaly is not known yet. A replay decides it.",
	"gap":                    "The content of these records cannot be checked.",
}
