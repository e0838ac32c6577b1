package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestCloseOfWhatIsGone: a store whose files are removed right before it is closed is closed at
// once, and says what happened.
func TestCloseOfWhatIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); !errors.Is(err, ErrGone) {
		t.Errorf("got %v, want %v", err, ErrGone)
	}
}
