package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrDamaged marks a snapshot whose objects are missing or are not as they were written.
var ErrDamaged = errors.New("the snapshot is damaged")

// Manifest names the objects of a snapshot, in their order. It belongs into a record: the snapshot exists once
// the record does.
type Manifest struct {
	Format  int     `json:"format"` // of the manifest: 1
	Name    string  `json:"name"`
	Bytes   int64   `json:"bytes"`
	Objects []Piece `json:"objects"`
}

// Piece is an object of a snapshot.
type Piece struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

const (
	answerWait  = 10 * time.Second
	slowestRate = 512 << 10 // bytes a second
)

// Within bounds one request about so many bytes: 10 s, and a second for each 512 KiB. A server that is cut off never
// answers, and findings wait meanwhile.
func Within(ctx context.Context, bytes int) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, answerWait+time.Duration(bytes)*(time.Second/slowestRate))
}

// Save writes all of r in objects of at most ObjectSize. Their names begin with name, which no other snapshot may
// have. After an error some of them may be there: [Drop] removes them by the name.
func Save(ctx context.Context, o Objects, name string, r io.Reader) (Manifest, error) {
	m := Manifest{Format: 1, Name: name}
	buffer := make([]byte, ObjectSize)
	for {
		n, err := io.ReadFull(r, buffer)
		if n > 0 {
			sum := sha256.Sum256(buffer[:n])
			p := Piece{Name: fmt.Sprintf("%s-%05d", name, len(m.Objects)), Bytes: n, SHA256: hex.EncodeToString(sum[:])}
			putting, cancel := Within(ctx, n)
			err := o.PutObject(putting, p.Name, buffer[:n])
			cancel()
			if err != nil {
				return m, fmt.Errorf("snapshot %s: %w", name, err)
			}
			m.Objects = append(m.Objects, p)
			m.Bytes += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return m, nil
		case err != nil:
			return m, err
		}
	}
}

// Load writes the snapshot to w, each object once its sum is checked. Before the first error w may have got
// a part of it.
func Load(ctx context.Context, o Objects, m Manifest, w io.Writer) error {
	if m.Format != 1 {
		return fmt.Errorf("snapshot %s: format %d is not known", m.Name, m.Format)
	}
	for _, p := range m.Objects {
		getting, cancel := Within(ctx, p.Bytes)
		data, err := o.GetObject(getting, p.Name)
		cancel()
		if err != nil {
			return fmt.Errorf("snapshot %s: %w", m.Name, err)
		}
		if sum := sha256.Sum256(data); len(data) != p.Bytes || hex.EncodeToString(sum[:]) != p.SHA256 {
			return fmt.Errorf("%w: %s has %d bytes of %d, or others", ErrDamaged, p.Name, len(data), p.Bytes)
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// Drop removes the objects of a snapshot by its name, complete or not.
func Drop(ctx context.Context, o Objects, name string) error {
	names, err := o.ListObjects(ctx, name+"-")
	for _, n := range names {
		err = errors.Join(err, o.DeleteObject(ctx, n))
	}
	return err
}

// ReadManifest reads a manifest from a record.
func ReadManifest(data []byte) (m Manifest, err error) {
	err = json.Unmarshal(data, &m)
	return m, err
}
