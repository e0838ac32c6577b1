// Package store is where a group keeps its records, and the state of its units. A store changes a record by
// compare-and-set only. Its subfolders hold one for each kind of store.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/isowatch/isowatch/internal/group"
)

// Store holds records of some kilobytes, by key, and objects. A key is a word, a slash, and letters, digits,
// hyphens, underscores and =.
//
// A change answers with [group.ErrConflict] only if it did not take effect, or if it did and the answer got lost.
// Any other error leaves that open too. So after each error the record has to be read. Reads may be old by
// some time. They are never of a value that was not stored.
type Store interface {
	// Get answers with group.ErrNotFound if there is no such key.
	Get(ctx context.Context, key string) (group.Value, error)
	// List gives all records whose keys begin with a word and a slash, in the order of keys.
	List(ctx context.Context, prefix string) ([]group.Value, error)
	// Create takes effect only if there is no such key.
	Create(ctx context.Context, key string, data []byte) (group.Version, error)
	// Update takes effect only if the key has this version.
	Update(ctx context.Context, key string, data []byte, version group.Version) (group.Version, error)
	// Delete takes effect only if the key has this version. Call it only for a record that nobody changes any more:
	// some stores cannot compare and delete at once.
	Delete(ctx context.Context, key string, version group.Version) error
	Objects
	Close() error
}

// Objects holds objects of up to [ObjectSize]. An object is written once, under a name that no other has.
type Objects interface {
	PutObject(ctx context.Context, name string, data []byte) error
	// GetObject answers with group.ErrNotFound if there is no such object.
	GetObject(ctx context.Context, name string) ([]byte, error)
	// DeleteObject removes an object, if there is one.
	DeleteObject(ctx context.Context, name string) error
	// ListObjects gives the names that begin so, in order.
	ListObjects(ctx context.Context, prefix string) ([]string, error)
}

// ObjectSize is the most bytes of an object: a NATS server refuses larger ones under load, since its queue holds
// 128 MiB.
const ObjectSize = 32 << 20

// ErrUnfit marks a store that a group cannot rest on.
var ErrUnfit = errors.New("the store is not fit for a group")

// Do carries out a request of a member.
func Do(ctx context.Context, s Store, r group.Request) group.Reply {
	reply := group.Reply{ID: r.ID}
	reply.Value.Key = r.Key
	switch r.Op {
	case group.Get:
		reply.Value, reply.Err = s.Get(ctx, r.Key)
	case group.List:
		reply.Values, reply.Err = s.List(ctx, r.Key)
	case group.Create:
		reply.Value.Version, reply.Err = s.Create(ctx, r.Key, r.Data)
	case group.Update:
		reply.Value.Version, reply.Err = s.Update(ctx, r.Key, r.Data, r.Version)
	case group.Delete:
		reply.Err = s.Delete(ctx, r.Key, r.Version)
	default:
		reply.Err = fmt.Errorf("operation %d", r.Op)
	}
	return reply
}

// Probe tries the store under a key that nobody else uses. It answers with ErrUnfit if the store takes a second
// Create, or an Update of a version that is not the present one. Any other error says that it could not be tried. A read may be
// old for some seconds.
func Probe(ctx context.Context, s Store, name string) (err error) {
	key := "probe/" + name
	first, err := s.Create(ctx, key, []byte("1"))
	if err != nil {
		return fmt.Errorf("trying the store: %w", err)
	}
	latest := first
	defer func() {
		if removed := s.Delete(ctx, key, latest); err == nil && removed != nil {
			err = fmt.Errorf("trying the store: %w", removed)
		}
	}()
	if _, err := s.Create(ctx, key, []byte("2")); err == nil {
		return fmt.Errorf("%w: it created a key that was there already", ErrUnfit)
	} else if !errors.Is(err, group.ErrConflict) {
		return fmt.Errorf("trying the store: %w", err)
	}
	second, err := s.Update(ctx, key, []byte("3"), first)
	if err != nil {
		return fmt.Errorf("trying the store: %w", err)
	}
	latest = second
	if _, err := s.Update(ctx, key, []byte("4"), first); err == nil {
		return fmt.Errorf("%w: it took a write that was made for an older version", ErrUnfit)
	} else if !errors.Is(err, group.ErrConflict) {
		return fmt.Errorf("trying the store: %w", err)
	}
	return shows(ctx, s, key, second)
}

// oldFor is how old a read may be: another server of the store may answer it, and lack the latest writes for a while.
const oldFor = 10 * time.Second

// shows waits until the store shows the version of the key.
func shows(ctx context.Context, s Store, key string, version group.Version) error {
	const pause = 50 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		got, err := s.Get(ctx, key)
		switch {
		case err == nil && string(got.Data) == "3" && got.Version == version:
			return nil
		case err != nil && !errors.Is(err, group.ErrNotFound):
			return fmt.Errorf("trying the store: %w", err)
		case waited >= oldFor:
			return fmt.Errorf("%w: it does not show what was written last", ErrUnfit)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("trying the store: %w", context.Cause(ctx))
		}
	}
}
