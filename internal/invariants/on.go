//go:build invariants

package invariants

// Enabled: the binary was built with the tag invariants.
const Enabled = true
