package kafka

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a text that no log, error or encoder prints.
type Secret string

const redacted = "(secret)"

// Format prints the placeholder for every verb, %d and %#v included.
func (Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// MarshalText keeps s out of JSON and of configuration dumps.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue keeps s out of structured logs.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
