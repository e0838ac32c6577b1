package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/internal/group"
)

// slowestRate is how many bytes a second a server takes or gives at least, in the time of a request.
const slowestRate = 1 << 20

// within bounds a request about so many bytes. If a server ends while it works on a request, no answer comes, and the
// library waits for as long as it may.
func (s *Store) within(ctx context.Context, size uint64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.wait+time.Duration(size)*(time.Second/slowestRate))
}

// PutObject implements the store.
func (s *Store) PutObject(ctx context.Context, name string, data []byte) error {
	trying, cancel := s.within(ctx, uint64(len(data)))
	defer cancel()
	chunk := min(s.chunk, max(len(data), 1))
	meta := jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(chunk)}}
	if _, err := s.objects.Put(trying, meta, bytes.NewReader(data)); err != nil {
		s.mend(ctx, err)
		return err
	}
	if len(data) <= chunk {
		return nil
	}
	// The library (v1.55.0, jetstream/object.go, Put) publishes all chunks in one message that it changes. When a
	// stream without a leader refuses one, it sends again what the message holds by then: another chunk.
	if err := s.read(ctx, name, io.Discard); err != nil {
		return fmt.Errorf("%s is not as it was written: %w", name, err)
	}
	return nil
}

// GetObject implements the store.
func (s *Store) GetObject(ctx context.Context, name string) ([]byte, error) {
	var data bytes.Buffer
	err := s.read(ctx, name, &data)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, group.ErrNotFound
	} else if err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// read reads an object. Its error says if the sum differs.
func (s *Store) read(ctx context.Context, name string, to io.Writer) error {
	asking, cancel := s.within(ctx, 0)
	info, err := s.objects.GetInfo(asking, name)
	cancel()
	if err != nil {
		return err
	}
	reading, cancel := s.within(ctx, info.Size)
	defer cancel()
	object, err := s.objects.Get(reading, name)
	if err != nil {
		return err
	}
	defer object.Close()
	if _, err = io.Copy(to, object); err != nil {
		return err
	}
	return object.Error()
}

// DeleteObject implements the store.
func (s *Store) DeleteObject(ctx context.Context, name string) error {
	ctx, cancel := s.within(ctx, 0)
	defer cancel()
	err := s.objects.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return err
}

// ListObjects implements the store.
func (s *Store) ListObjects(ctx context.Context, prefix string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*s.wait) // of many small messages
	defer cancel()
	all, err := s.objects.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range all {
		if strings.HasPrefix(o.Name, prefix) {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
