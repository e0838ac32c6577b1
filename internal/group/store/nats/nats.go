// Package nats keeps a group's records in a key-value bucket of NATS JetStream, and objects in an object store
// beside it.
package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/internal/group"
)

// objectsSuffix makes the name of the object store of the bucket's.
const objectsSuffix = "_objects"

// Store is a bucket.
type Store struct {
	records jetstream.KeyValue
	objects jetstream.ObjectStore
	close   func()
	copies  int           // of the bucket; 0: not known
	wait    time.Duration // answerWait, but in tests
	chunk   int           // the most bytes of a message of an object

	js       jetstream.JetStream
	bucket   string
	replicas int
	mending  sync.Mutex
	mended   time.Time
}

// chunkMost leaves room in a message for its headers.
func chunkMost(js jetstream.JetStream) int {
	const headers = 1 << 10
	return max(int(min(js.Conn().MaxPayload(), 1<<20))-headers, 1<<10)
}

// Place holds what a URL says, nats://HOST,HOST/BUCKET?replicas=N.
type Place struct {
	Bucket   string
	Servers  []string // URLs
	Hosts    []string // of Servers, in their order
	Replicas int      // of a bucket that is made
	Asked    bool     // the URL names Replicas
}

// mostReplicas is how many a server allows. The settings have the same bound.
const mostReplicas = 5

// PlaceOf reads a URL.
func PlaceOf(u *url.URL) (p Place, err error) {
	p.Bucket, p.Replicas = strings.TrimPrefix(u.Path, "/"), 1
	options := u.Query()
	if p.Asked = options.Has("replicas"); p.Asked {
		p.Replicas, err = strconv.Atoi(options.Get("replicas"))
		options.Del("replicas")
	}
	p.Hosts = strings.Split(u.Host, ",")
	for _, host := range p.Hosts {
		server := url.URL{Scheme: u.Scheme, User: u.User, Host: host}
		p.Servers = append(p.Servers, server.String())
	}
	if slices.Contains(p.Hosts, "") || p.Bucket == "" || strings.ContainsAny(p.Bucket, "/. ") || err != nil || p.Replicas < 1 || p.Replicas > mostReplicas || len(options) > 0 {
		return Place{}, fmt.Errorf("%s: want nats://HOST/BUCKET, with several hosts as HOST,HOST and at most %d copies as ?replicas=N", u.Redacted(), mostReplicas)
	}
	return p, nil
}

// answerWait is how long a server may take to answer about a bucket. Nobody answers while the bucket has no leader.
const answerWait = 2 * time.Second

// Open opens a bucket, and makes it with so many replicas if it is not there; 0: it makes none. close ends the connection.
func Open(ctx context.Context, js jetstream.JetStream, bucket string, replicas int, close func()) (*Store, error) {
	s := &Store{close: close, wait: answerWait, chunk: chunkMost(js), js: js, bucket: bucket, replicas: replicas}
	var err error
	if s.records, s.objects, err = s.open(ctx); err != nil {
		return nil, err
	}
	asking, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	if status, err := s.records.Status(asking); err == nil {
		s.copies = status.Config().Replicas
	}
	return s, nil
}

// Replicas is how many copies of the bucket the servers keep; 0: that is not known.
func (s *Store) Replicas() int { return s.copies }

func (s *Store) open(ctx context.Context) (records jetstream.KeyValue, objects jetstream.ObjectStore, err error) {
	err = untilAnswered(ctx, func(ctx context.Context) (err error) {
		records, err = s.js.KeyValue(ctx, s.bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) && s.replicas > 0 {
			records, err = s.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: s.bucket, History: 1, Replicas: s.replicas})
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("bucket %s: %w", s.bucket, err)
	}
	err = untilAnswered(ctx, func(ctx context.Context) (err error) {
		objects, err = s.js.ObjectStore(ctx, s.bucket+objectsSuffix)
		if errors.Is(err, jetstream.ErrBucketNotFound) && s.replicas > 0 {
			objects, err = s.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: s.bucket + objectsSuffix, Replicas: s.replicas})
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("bucket %s: %w", s.bucket+objectsSuffix, err)
	}
	return records, objects, nil
}

// mend makes the buckets again that somebody has deleted. A server without a leader does not say that they are gone. It looks
// once in answerWait at most. The handles that Open gave stay: they name the bucket only.
func (s *Store) mend(ctx context.Context, err error) {
	gone := errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound) ||
		errors.Is(err, nats.ErrStreamNotFound)
	if !gone || s.replicas == 0 || !s.mending.TryLock() {
		return
	}
	defer s.mending.Unlock()
	if time.Since(s.mended) < s.wait {
		return
	}
	s.mended = time.Now()
	_, _, _ = s.open(ctx) // else the next request that fails looks again
}

// untilAnswered asks again when no answer comes.
func untilAnswered(ctx context.Context, ask func(context.Context) error) error {
	for {
		asking, cancel := context.WithTimeout(ctx, answerWait)
		err := ask(asking)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
}

// Close ends the connection.
func (s *Store) Close() error {
	s.close()
	return nil
}

// In a subject, dots divide what wildcards stand for. No part of a key has one.
func subject(key string) string { return strings.Replace(key, "/", ".", 1) }
func key(subject string) string { return strings.Replace(subject, ".", "/", 1) }

func value(e jetstream.KeyValueEntry) group.Value {
	return group.Value{Key: key(e.Key()), Version: versionOf(e.Revision()), Data: e.Value()}
}

func versionOf(revision uint64) group.Version {
	return group.Version(strconv.FormatUint(revision, 10))
}

// Get implements the store.
func (s *Store) Get(ctx context.Context, key string) (group.Value, error) {
	e, err := s.records.Get(ctx, subject(key))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return group.Value{}, group.ErrNotFound
	} else if err != nil {
		return group.Value{}, err
	}
	return value(e), nil
}

// List implements the store: one consumer of the last message of each key, for a moment.
func (s *Store) List(ctx context.Context, prefix string) ([]group.Value, error) {
	w, err := s.records.Watch(ctx, subject(prefix)+"*", jetstream.IgnoreDeletes())
	if err != nil {
		s.mend(ctx, err)
		return nil, err
	}
	defer w.Stop()
	var all []group.Value
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case e, ok := <-w.Updates():
			switch {
			case !ok:
				return nil, errors.New("the list ended early")
			case e == nil: // all that was there
				slices.SortFunc(all, func(a, b group.Value) int { return cmp.Compare(a.Key, b.Key) })
				return latest(all), nil
			}
			all = append(all, value(e))
		}
	}
}

// latest keeps the last of several values of a key: one that changed during the list is in it twice.
func latest(all []group.Value) []group.Value {
	kept := all[:0]
	for _, v := range all {
		if n := len(kept); n > 0 && kept[n-1].Key == v.Key {
			if newer(v.Version, kept[n-1].Version) {
				kept[n-1] = v
			}
			continue
		}
		kept = append(kept, v)
	}
	return kept
}

func newer(a, b group.Version) bool {
	x, _ := strconv.ParseUint(string(a), 10, 64) // the server's numbers
	y, _ := strconv.ParseUint(string(b), 10, 64)
	return x > y
}

// Create implements the store.
func (s *Store) Create(ctx context.Context, key string, data []byte) (group.Version, error) {
	revision, err := s.records.Create(ctx, subject(key), data)
	return outcome(revision, err)
}

// Update implements the store.
func (s *Store) Update(ctx context.Context, key string, data []byte, version group.Version) (group.Version, error) {
	number, err := strconv.ParseUint(string(version), 10, 64)
	if err != nil || number == 0 {
		return "", group.ErrConflict // of no version of this store
	}
	revision, err := s.records.Update(ctx, subject(key), data, number)
	return outcome(revision, err)
}

// Delete implements the store.
func (s *Store) Delete(ctx context.Context, key string, version group.Version) error {
	number, err := strconv.ParseUint(string(version), 10, 64)
	if err != nil || number == 0 {
		return group.ErrConflict
	}
	_, err = outcome(0, s.records.Delete(ctx, subject(key), jetstream.LastRevision(number)))
	return err
}

func outcome(revision uint64, err error) (group.Version, error) {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return versionOf(revision), nil
	case errors.Is(err, jetstream.ErrKeyExists), errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
		return "", group.ErrConflict
	}
	return "", err
}
