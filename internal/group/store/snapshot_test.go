package store

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// silent never answers.
type silent struct{ Objects }

func (silent) PutObject(ctx context.Context, _ string, _ []byte) error {
	<-ctx.Done()
	return ctx.Err()
}

func (silent) GetObject(ctx context.Context, _ string) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestSilentStore: a store that is cut off holds nobody up for longer than its bytes may take.
func TestSilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := Save(t.Context(), silent{}, "a", strings.NewReader(strings.Repeat("b", 5<<20))); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(began).Round(time.Second); took != 20*time.Second {
			t.Errorf("5 MiB: given up after %v, want 20s", took)
		}
		began = time.Now()
		err := Load(t.Context(), silent{}, Manifest{Format: 1, Objects: []Piece{{Name: "a", Bytes: 1}}}, io.Discard)
		if took := time.Since(began).Round(time.Second); !errors.Is(err, context.DeadlineExceeded) || took != 10*time.Second {
			t.Errorf("a byte: given up after %v: %v", took, err)
		}
	})
}
