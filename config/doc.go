// Package config holds what an operator can choose, in one typed tree: defaults,
// the text forms that flags and files share, and a validation that lists every
// fault. It opens nothing.
package config
