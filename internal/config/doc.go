// Package config holds an operator's choices in one typed tree. It has the defaults, the
// text forms that flags and files share, and a validation that lists every fault. It
// opens no file.
package config
