package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/internal/group"
)

// Named is the part of a store that belongs to the group of that name: letters, digits, hyphens and underscores.
func Named(s Store, name string) Store { return named{s, name + "_", name + "."} }

// groupsPrefix is before the names of the groups that have used a store.
const groupsPrefix = "groups/"

// Note writes down that a group of this name uses the store.
func Note(ctx context.Context, s Store, name string) error {
	_, err := s.Create(ctx, groupsPrefix+name, []byte("1"))
	if errors.Is(err, group.ErrConflict) {
		return nil // it is there
	}
	return err
}

// Names are the groups that have used the store, in order.
func Names(ctx context.Context, s Store) (all []string, err error) {
	found, err := s.List(ctx, groupsPrefix)
	for _, v := range found {
		all = append(all, strings.TrimPrefix(v.Key, groupsPrefix))
	}
	return all, err
}

// Neighbours are the names of all groups in the store, in order. s is the part of the store of one group, and known says whether that
// group has used the store.
func Neighbours(ctx context.Context, s Store) (all []string, known bool, err error) {
	n, ok := s.(named)
	if ok {
		s = n.Store
	}
	all, err = Names(ctx, s)
	return all, ok && slices.Contains(all, strings.TrimSuffix(n.word, "_")), err
}

type named struct {
	Store
	word, object string // before words of keys, and before names of objects
}

func (n named) own(v group.Value, err error) (group.Value, error) {
	v.Key = strings.TrimPrefix(v.Key, n.word)
	return v, err
}

func (n named) Get(ctx context.Context, key string) (group.Value, error) {
	return n.own(n.Store.Get(ctx, n.word+key))
}

func (n named) List(ctx context.Context, prefix string) ([]group.Value, error) {
	all, err := n.Store.List(ctx, n.word+prefix)
	for i := range all {
		all[i], _ = n.own(all[i], nil)
	}
	return all, err
}

func (n named) Create(ctx context.Context, key string, data []byte) (group.Version, error) {
	return n.Store.Create(ctx, n.word+key, data)
}

func (n named) Update(ctx context.Context, key string, data []byte, version group.Version) (group.Version, error) {
	return n.Store.Update(ctx, n.word+key, data, version)
}

func (n named) Delete(ctx context.Context, key string, version group.Version) error {
	return n.Store.Delete(ctx, n.word+key, version)
}

func (n named) PutObject(ctx context.Context, name string, data []byte) error {
	return n.Store.PutObject(ctx, n.object+name, data)
}

func (n named) GetObject(ctx context.Context, name string) ([]byte, error) {
	return n.Store.GetObject(ctx, n.object+name)
}

func (n named) DeleteObject(ctx context.Context, name string) error {
	return n.Store.DeleteObject(ctx, n.object+name)
}

func (n named) ListObjects(ctx context.Context, prefix string) ([]string, error) {
	all, err := n.Store.ListObjects(ctx, n.object+prefix)
	for i := range all {
		all[i] = strings.TrimPrefix(all[i], n.object)
	}
	return all, err
}
