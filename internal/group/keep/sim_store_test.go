package keep

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/group"
)

// simStore is a store in virtual time. All processes have it.
type simStore struct {
	mu       sync.Mutex
	rng      *rand.Rand
	records  map[string]group.Value
	objects  map[string][]byte
	revision uint64
	wrote    func(key string, data []byte) // mu is held
}

func newSimStore(rng *rand.Rand) *simStore {
	return &simStore{rng: rng, records: map[string]group.Value{}, objects: map[string][]byte{}}
}

func (s *simStore) below(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.IntN(n)
}

// line is the way of one process to the store.
type line struct {
	*simStore
	ctx              context.Context // ends with the process
	mu               sync.Mutex
	cutTil, lossyTil time.Time // nothing arrives; requests and answers are lost or late
}

func (l *line) Close() error { return nil }

func (l *line) disturb(cut, lossy time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cutTil, l.lossyTil = time.Now().Add(cut), time.Now().Add(lossy)
}

func (l *line) is() (cut, lossy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return now.Before(l.cutTil), now.Before(l.lossyTil)
}

// silence waits for an answer that does not come.
func (l *line) silence(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-l.ctx.Done():
		return l.ctx.Err()
	}
	return ctx.Err()
}

func (l *line) trip(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ctx.Done():
		return l.ctx.Err()
	case <-time.After(time.Duration(1+l.below(20)) * time.Millisecond):
		return nil
	}
}

// do has the store carry out something, if it arrives, and answers if the answer does.
func (l *line) do(ctx context.Context, reads bool, fn func() error) error {
	if err := l.trip(ctx); err != nil {
		return err
	}
	cut, lossy := l.is()
	if cut {
		return l.silence(ctx)
	}
	there := func() error {
		l.simStore.mu.Lock()
		defer l.simStore.mu.Unlock()
		return fn()
	}
	if lossy {
		switch l.below(6) {
		case 0: // the request is lost
			return l.silence(ctx)
		case 1: // the answer is
			there()
			return l.silence(ctx)
		case 2: // the request comes late
			if reads {
				return l.silence(ctx)
			}
			time.AfterFunc(time.Duration(l.below(int(3*simLease))), func() { there() })
			return l.silence(ctx)
		}
	}
	err := there()
	if waits := l.trip(ctx); waits != nil {
		return waits
	}
	return err
}

func (l *line) Get(ctx context.Context, key string) (v group.Value, err error) {
	err = l.do(ctx, true, func() error {
		var ok bool
		if v, ok = l.records[key]; !ok {
			return group.ErrNotFound
		}
		return nil
	})
	return v, err
}

func (l *line) List(ctx context.Context, prefix string) (all []group.Value, err error) {
	err = l.do(ctx, true, func() error {
		for key, v := range l.records {
			if strings.HasPrefix(key, prefix) {
				all = append(all, v)
			}
		}
		slices.SortFunc(all, func(a, b group.Value) int { return cmp.Compare(a.Key, b.Key) })
		return nil
	})
	return all, err
}

func (l *line) put(ctx context.Context, key string, data []byte, version group.Version) (group.Version, error) {
	next := group.Version("")
	err := l.do(ctx, false, func() error {
		if l.records[key].Version != version {
			return group.ErrConflict
		}
		l.revision++
		next = group.Version(strconv.FormatUint(l.revision, 10))
		l.records[key] = group.Value{Key: key, Version: next, Data: data}
		l.wrote(key, data)
		return nil
	})
	if err != nil { // it may still be written
		return "", err
	}
	return next, nil
}

func (l *line) Create(ctx context.Context, key string, data []byte) (group.Version, error) {
	return l.put(ctx, key, data, "")
}

func (l *line) Update(ctx context.Context, key string, data []byte, version group.Version) (group.Version, error) {
	return l.put(ctx, key, data, version)
}

func (l *line) Delete(ctx context.Context, key string, version group.Version) error {
	return l.do(ctx, false, func() error {
		if v, ok := l.records[key]; ok && v.Version != version {
			return group.ErrConflict
		}
		delete(l.records, key)
		return nil
	})
}

func (l *line) PutObject(ctx context.Context, name string, data []byte) error {
	data = slices.Clone(data)
	return l.do(ctx, false, func() error {
		if _, ok := l.objects[name]; ok {
			return errors.New("there is such an object")
		}
		l.objects[name] = data
		return nil
	})
}

func (l *line) GetObject(ctx context.Context, name string) (data []byte, err error) {
	err = l.do(ctx, true, func() error {
		var ok bool
		if data, ok = l.objects[name]; !ok {
			return group.ErrNotFound
		}
		return nil
	})
	return data, err
}

func (l *line) DeleteObject(ctx context.Context, name string) error {
	return l.do(ctx, false, func() error { delete(l.objects, name); return nil })
}

func (l *line) ListObjects(ctx context.Context, prefix string) (all []string, err error) {
	err = l.do(ctx, true, func() error {
		for name := range l.objects {
			if strings.HasPrefix(name, prefix) {
				all = append(all, name)
			}
		}
		slices.Sort(all)
		return nil
	})
	return all, err
}
