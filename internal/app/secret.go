package app

import (
	"bytes"
	"fmt"
	"os"
)

// readSecret is the content of a file without the line end that editors add; no
// path, no secret. An empty file is a mistake, and not an empty secret.
func readSecret(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	secret, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("secret file: %w", err)
	}
	secret = bytes.TrimRight(secret, "\r\n")
	if len(secret) == 0 {
		return nil, fmt.Errorf("secret file %s is empty", path)
	}
	return secret, nil
}
