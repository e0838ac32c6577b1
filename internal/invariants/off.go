//go:build !invariants

// Package invariants says whether the program audits itself. Built with the tag invariants, it
// does after every step the checks that otherwise only tests do. Audits cost time in the size
// of all that is in memory.
package invariants

// Enabled: the binary was built with the tag invariants.
const Enabled = false
