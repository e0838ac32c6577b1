// Package publisher writes records where a monitor reads them: to a file, a JetStream stream or
// a Kafka topic. A writer waits until there is room.
package publisher

import (
	"context"
	"fmt"
	"os"
	"sync"
)

// Writer takes records. It is safe for concurrent use.
type Writer interface {
	// Write hands on one record, a line without its end. Records of one key stay in their
	// order. id is unique in a run: a stream drops a record that it has already. An error may
	// belong to an earlier record.
	Write(ctx context.Context, key, id string, record []byte) error
	// Close returns when all that was written is where it is to be, or tells that it is not.
	Close(ctx context.Context) error
}

// file is a file with a record a line.
type file struct {
	mu   sync.Mutex
	file *os.File
	line []byte
}

// File writes to a file. It makes the file again: the old content is gone.
func File(name string) (Writer, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("publisher: %w", err)
	}
	return &file{file: f}, nil
}

// Write puts a whole line into the file at once, so that who follows it sees no half.
func (w *file) Write(_ context.Context, _, _ string, record []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line = append(append(w.line[:0], record...), '\n')
	if _, err := w.file.Write(w.line); err != nil {
		return fmt.Errorf("publisher: %w", err)
	}
	return nil
}

func (w *file) Close(context.Context) error { return w.file.Close() }
