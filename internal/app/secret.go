package app

import (
	"bytes"
	"fmt"
	"os"

	"github.com/isowatch/isowatch/internal/config"
)

// readSecret is the text that s names, without the line end that editors add; nil
// where it names none. An empty one is a mistake, and not an empty secret.
func readSecret(s config.Secret) ([]byte, error) {
	switch {
	case s.File != "":
		secret, err := os.ReadFile(s.File)
		if err != nil {
			return nil, fmt.Errorf("secret file: %w", err)
		}
		secret = bytes.TrimRight(secret, "\r\n")
		if len(secret) == 0 {
			return nil, fmt.Errorf("secret file %s is empty", s.File)
		}
		return secret, nil
	case s.Env != "":
		text := os.Getenv(s.Env)
		if text == "" {
			return nil, fmt.Errorf("secret: the variable %s is not set", s.Env)
		}
		return []byte(text), nil
	}
	return nil, nil
}
