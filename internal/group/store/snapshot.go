package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
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
	firstBuffer = 64 << 10
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
	buffer := make([]byte, firstBuffer) // most pieces of a log are small
	for {
		n, err := io.ReadFull(r, buffer)
		for err == nil && len(buffer) < ObjectSize {
			buffer = append(buffer, make([]byte, min(len(buffer), ObjectSize-len(buffer)))...)
			var more int
			more, err = io.ReadFull(r, buffer[n:])
			if n += more; errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
		}
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
	ctx, stop := context.WithCancel(ctx)
	type got struct {
		data []byte
		err  error
	}
	next := make(chan got) // the next object is read while one is written
	var reading sync.WaitGroup
	reading.Go(func() {
		for _, p := range m.Objects {
			data, err := getPiece(ctx, o, p)
			select {
			case next <- got{data, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	defer reading.Wait()
	defer stop()
	for range m.Objects {
		var x got
		select {
		case x = <-next:
		case <-ctx.Done():
			x.err = context.Cause(ctx)
		}
		if x.err != nil {
			return fmt.Errorf("snapshot %s: %w", m.Name, x.err)
		}
		if _, err := w.Write(x.data); err != nil {
			return err
		}
	}
	return nil
}

// getPiece reads an object and checks its sum.
func getPiece(ctx context.Context, o Objects, p Piece) ([]byte, error) {
	ctx, cancel := Within(ctx, p.Bytes)
	defer cancel()
	data, err := o.GetObject(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	if len(data) != p.Bytes {
		return nil, fmt.Errorf("%w: %s has %d bytes of %d", ErrDamaged, p.Name, len(data), p.Bytes)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != p.SHA256 {
		return nil, fmt.Errorf("%w: %s has other bytes than were written", ErrDamaged, p.Name)
	}
	return data, nil
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
