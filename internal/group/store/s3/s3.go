// Package s3 keeps a group's records and objects in a bucket of S3, or of a server that speaks it. A record changes
// by a conditional PUT: If-None-Match makes one, and If-Match replaces the one with that ETag.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/isowatch/isowatch/internal/group"
)

// objectFolder is where objects are, beside the folders of records.
const objectFolder = "objects/"

// Store is a bucket, or a folder in one.
type Store struct {
	client *minio.Client
	bucket string
	prefix string // with a slash at its end, or empty

	mu    sync.Mutex
	known map[string]group.Value // that were listed, by key
}

// Open uses the bucket of a URL, s3://BUCKET/PREFIX. It must be there. As other programs do,
// it reads the variables AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, and AWS_REGION. Credentials come from the environment, from
// the shared file, or from the machine's role.
func Open(ctx context.Context, u *url.URL, lookup func(string) (string, bool)) (*Store, error) {
	if u.Host == "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("%s: want s3://BUCKET/PREFIX", u.Redacted())
	}
	variable := func(names ...string) string {
		for _, name := range names {
			if v, _ := lookup(name); v != "" {
				return v
			}
		}
		return ""
	}
	at, err := url.Parse(cmp.Or(variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"), "https://s3.amazonaws.com"))
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("AWS_ENDPOINT_URL_S3: want a URL of a server, such as https://s3.example")
	}
	client, err := minio.New(at.Host, &minio.Options{
		Secure: at.Scheme == "https", Region: variable("AWS_REGION", "AWS_DEFAULT_REGION"),
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: http.DefaultClient},
		}),
	})
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, bucket: u.Host, known: map[string]group.Value{}}
	if p := strings.Trim(u.Path, "/"); p != "" {
		s.prefix = p + "/"
	}
	if there, err := client.BucketExists(ctx, s.bucket); err != nil {
		return nil, fmt.Errorf("bucket %s: %w", s.bucket, err)
	} else if !there {
		return nil, fmt.Errorf("there is no bucket %s", s.bucket)
	}
	return s, nil
}

// Close does nothing: requests end by themselves.
func (s *Store) Close() error { return nil }

// outcome says what an error of the client means.
func outcome(err error) error {
	switch r := minio.ToErrorResponse(err); {
	case err == nil:
		return nil
	case r.StatusCode == http.StatusPreconditionFailed:
		return group.ErrConflict
	case r.StatusCode == http.StatusNotFound && r.Code != minio.NoSuchBucket:
		return group.ErrNotFound
	}
	return err
}

func (s *Store) get(ctx context.Context, name string) (group.Value, error) {
	o, err := s.client.GetObject(ctx, s.bucket, s.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return group.Value{}, outcome(err)
	}
	defer o.Close()
	data, err := io.ReadAll(o)
	if err != nil {
		return group.Value{}, outcome(err)
	}
	info, err := o.Stat() // of the answer that was read
	if err != nil {
		return group.Value{}, outcome(err)
	}
	return group.Value{Key: name, Version: group.Version(info.ETag), Data: data}, nil
}

func (s *Store) put(ctx context.Context, name string, data []byte, condition func(*minio.PutObjectOptions)) (group.Version, error) {
	options := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"}
	condition(&options)
	info, err := s.client.PutObject(ctx, s.bucket, s.prefix+name, bytes.NewReader(data), int64(len(data)), options)
	if err != nil {
		return "", outcome(err)
	}
	return group.Version(info.ETag), nil
}

// Get implements the store.
func (s *Store) Get(ctx context.Context, key string) (group.Value, error) { return s.get(ctx, key) }

// List implements the store. It reads only records whose ETags changed.
func (s *Store) List(ctx context.Context, prefix string) ([]group.Value, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all []group.Value
	listed := map[string]bool{}
	for o := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, outcome(o.Err)
		}
		key := strings.TrimPrefix(o.Key, s.prefix)
		listed[key] = true
		v, ok := s.recall(key, group.Version(strings.Trim(o.ETag, `"`)))
		if !ok {
			var err error
			switch v, err = s.get(ctx, key); {
			case errors.Is(err, group.ErrNotFound):
				continue // removed meanwhile
			case err != nil:
				return nil, err
			}
			s.remember(v)
		}
		all = append(all, v)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.forget(prefix, listed)
	slices.SortFunc(all, func(a, b group.Value) int { return cmp.Compare(a.Key, b.Key) })
	return all, nil
}

func (s *Store) recall(key string, version group.Version) (group.Value, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.known[key]
	return v, ok && v.Version == version
}

func (s *Store) remember(v group.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[v.Key] = v
}

func (s *Store) forget(prefix string, listed map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.known {
		if strings.HasPrefix(key, prefix) && !listed[key] {
			delete(s.known, key)
		}
	}
}

// Create implements the store.
func (s *Store) Create(ctx context.Context, key string, data []byte) (group.Version, error) {
	return s.put(ctx, key, data, func(o *minio.PutObjectOptions) { o.SetMatchETagExcept("*") })
}

// Update implements the store.
func (s *Store) Update(ctx context.Context, key string, data []byte, version group.Version) (group.Version, error) {
	if version == "" {
		return "", group.ErrConflict // of no version of this store
	}
	v, err := s.put(ctx, key, data, func(o *minio.PutObjectOptions) { o.SetMatchETag(string(version)) })
	if errors.Is(err, group.ErrNotFound) {
		return "", group.ErrConflict
	}
	return v, err
}

// Delete implements the store. It compares and then deletes: servers differ in whether they can do both at once.
func (s *Store) Delete(ctx context.Context, key string, version group.Version) error {
	v, err := s.get(ctx, key)
	switch {
	case errors.Is(err, group.ErrNotFound), err == nil && v.Version != version:
		return group.ErrConflict
	case err != nil:
		return err
	}
	return outcome(s.client.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{}))
}

// PutObject implements the store.
func (s *Store) PutObject(ctx context.Context, name string, data []byte) error {
	_, err := s.put(ctx, objectFolder+name, data, func(*minio.PutObjectOptions) {})
	return err
}

// GetObject implements the store.
func (s *Store) GetObject(ctx context.Context, name string) ([]byte, error) {
	v, err := s.get(ctx, objectFolder+name)
	return v.Data, err
}

// DeleteObject implements the store.
func (s *Store) DeleteObject(ctx context.Context, name string) error {
	err := outcome(s.client.RemoveObject(ctx, s.bucket, s.prefix+objectFolder+name, minio.RemoveObjectOptions{}))
	if errors.Is(err, group.ErrNotFound) {
		return nil
	}
	return err
}

// ListObjects implements the store.
func (s *Store) ListObjects(ctx context.Context, prefix string) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var names []string
	for o := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + objectFolder + prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, outcome(o.Err)
		}
		names = append(names, strings.TrimPrefix(o.Key, s.prefix+objectFolder))
	}
	slices.Sort(names)
	return names, ctx.Err()
}
