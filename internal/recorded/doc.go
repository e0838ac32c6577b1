// Package recorded holds a test only: the checker's verdicts on histories that were
// recorded from real databases, and on those that other checkers are tested with,
// against the verdicts that are known of them.
//
// The histories are data of public projects and not part of this one. The test
// looks for them in ../shared/histories, beside the repository, and is skipped
// without them.
package recorded
