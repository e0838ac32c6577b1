// Package file keeps a group's records in a folder that all its members mount.
//
// The versions of a key are files KEY@NUMBER, and the file with the greatest number counts. A change links the
// next number to a file that is written and synced already. The link fails if this number is there, so one
// of several writers wins. A writer that is far behind may link a number that was removed. It sees that there
// are greater ones, and then its own link counts for nothing, since nobody reads it. A file without content
// stands for a key that was deleted, so that no number is used twice. If the folder is removed and made again, numbers
// begin above all numbers of before: a member that remembers one wins nothing by it.
package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/group"
)

// Names of folders beside the folders of records.
const (
	objectFolder = "objects"
	newFolder    = "new"          // files before they have their names
	firstFile    = "first-number" // number of the first version of keys
)

// Store is a folder.
type Store struct {
	dir    string
	device uint64 // that dir was on at the start; 0: not known

	reread time.Duration // after so long, and up to twice as long, a file that was listed is read again

	mu    sync.Mutex
	known map[string]content // of records that were listed, by file
}

// content of a file. Nobody of the group writes to a file that has its name. But it may be damaged.
type content struct {
	data  []byte
	until time.Time // then it is read again
}

// rereadAfter is the usual time. Files are read again one by one, not all at once.
const rereadAfter = 2 * time.Second

// Open opens the folder of a URL, file:///DIR. It does not make the folder: where a volume is not mounted, that would be a store of
// this machine alone.
func Open(u *url.URL) (*Store, error) {
	if u.Host != "" || !filepath.IsAbs(filepath.FromSlash(u.Path)) || u.RawQuery != "" {
		return nil, fmt.Errorf("%s: want file:///DIR", u.Redacted())
	}
	s := &Store{dir: filepath.FromSlash(u.Path), reread: rereadAfter, known: map[string]content{}}
	if info, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s on this machine. Mount the volume that all members share. For a new group, make the folder once: mkdir %s", s.dir, s.dir)
	} else if err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder", s.dir)
	}
	for _, name := range []string{objectFolder, newFolder} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	s.device = deviceOf(s.dir)
	return s, nil
}

// Close does nothing: no file stays open.
func (s *Store) Close() error { return nil }

// version is a file of a record.
type version struct {
	key    string // without its folder
	number uint64
}

func (v version) file() string { return fmt.Sprintf("%s@%020d", v.key, v.number) }

// versions lists a folder, by key and number. If key is not empty, other keys are left out.
func (s *Store) versions(folder, key string) ([]version, error) {
	d, err := os.Open(filepath.Join(s.dir, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []version
	for _, name := range names {
		of, text, ok := strings.Cut(name, "@")
		number, err := strconv.ParseUint(text, 10, 64)
		v := version{of, number}
		if ok && err == nil && (key == "" || of == key) && v.file() == name { // another file is not of this store
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b version) int { return strings.Compare(a.file(), b.file()) })
	return all, nil
}

func split(key string) (folder, name string, err error) {
	folder, name, ok := strings.Cut(key, "/")
	if !ok || folder == "" || name == "" || strings.ContainsAny(name, "/@.") || folder == objectFolder || folder == newFolder {
		return "", "", fmt.Errorf("key %q", key)
	}
	return folder, name, nil
}

// retries is how often a file may be removed between the list that shows it and the reading: each time
// there is a newer one.
const retries = 20

// Get implements the store.
func (s *Store) Get(_ context.Context, key string) (group.Value, error) {
	folder, name, err := split(key)
	if err != nil {
		return group.Value{}, err
	}
	for range retries {
		all, err := s.versions(folder, name)
		if err != nil {
			return group.Value{}, err
		} else if len(all) == 0 {
			return group.Value{}, group.ErrNotFound
		}
		last := all[len(all)-1]
		data, err := os.ReadFile(filepath.Join(s.dir, folder, last.file()))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return group.Value{}, err
		case len(data) == 0:
			return group.Value{Version: versionOf(last.number)}, group.ErrNotFound
		}
		return group.Value{Key: key, Version: versionOf(last.number), Data: data}, nil
	}
	return group.Value{}, fmt.Errorf("%s changes too fast to be read", key)
}

func versionOf(number uint64) group.Version { return group.Version(strconv.FormatUint(number, 10)) }

// List implements the store. It removes old versions, except the last one before the present one of each key.
func (s *Store) List(_ context.Context, prefix string) ([]group.Value, error) {
	folder := strings.TrimSuffix(prefix, "/")
	for range retries {
		all, err := s.versions(folder, "")
		if err != nil {
			return nil, err
		}
		values, err := s.read(folder, all)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err == nil {
			s.clean(folder, all)
		}
		return values, err
	}
	return nil, fmt.Errorf("%s changes too fast to be read", prefix)
}

// read reads the last version of each key.
func (s *Store) read(folder string, all []version) ([]group.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var values []group.Value
	known := map[string]content{}
	now := time.Now()
	for i, v := range all {
		if i+1 < len(all) && all[i+1].key == v.key {
			continue
		}
		path := filepath.Join(folder, v.file())
		c, ok := s.known[path]
		if !ok || now.After(c.until) {
			data, err := os.ReadFile(filepath.Join(s.dir, path))
			if err != nil {
				return nil, err
			}
			c = content{data, now.Add(s.reread + mathrand.N(s.reread))}
		}
		known[path] = c
		if len(c.data) > 0 {
			values = append(values, group.Value{Key: folder + "/" + v.key, Version: versionOf(v.number), Data: c.data})
		}
	}
	for path, c := range s.known { // of other folders
		if filepath.Dir(path) != folder {
			known[path] = c
		}
	}
	s.known = known
	return values, nil
}

// clean removes all versions but the last two of each key. An error is of no matter: the next list tries again.
func (s *Store) clean(folder string, all []version) {
	for i, v := range all {
		if i+2 < len(all) && all[i+2].key == v.key {
			_ = os.Remove(filepath.Join(s.dir, folder, v.file()))
		}
	}
}

// Create implements the store.
func (s *Store) Create(ctx context.Context, key string, data []byte) (group.Version, error) {
	was, err := s.Get(ctx, key)
	switch {
	case err == nil:
		return "", group.ErrConflict
	case !errors.Is(err, group.ErrNotFound):
		return "", err
	case was.Version == "":
		was.Version = "0"
	}
	return s.write(key, data, was.Version)
}

// Update implements the store.
func (s *Store) Update(_ context.Context, key string, data []byte, version group.Version) (group.Version, error) {
	if len(data) == 0 {
		return "", fmt.Errorf("%s: no content", key)
	}
	return s.write(key, data, version)
}

// Delete implements the store.
func (s *Store) Delete(_ context.Context, key string, version group.Version) error {
	_, err := s.write(key, nil, version)
	return err
}

// write makes the version after the one that is named.
func (s *Store) write(key string, data []byte, after group.Version) (group.Version, error) {
	folder, name, err := split(key)
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseUint(string(after), 10, 63)
	if err != nil {
		return "", group.ErrConflict // of no version of this store
	}
	if err := os.MkdirAll(filepath.Join(s.dir, folder), 0o700); err != nil {
		return "", err
	}
	// Versions before the last two are removed, so the next number of a writer far behind is free again.
	// The writer looks before it links, and again after that.
	if all, err := s.versions(folder, name); err != nil {
		return "", err
	} else if last := lastOf(all); last != number {
		return "", group.ErrConflict
	}
	next := version{name, number + 1}
	if number == 0 {
		if next.number, err = s.first(); err != nil {
			return "", err
		}
	}
	if err := s.link(filepath.Join(folder, next.file()), data); err != nil {
		return "", err
	}
	all, err := s.versions(folder, name)
	if err != nil {
		return "", err
	}
	if last := lastOf(all); last != next.number {
		return "", fmt.Errorf("%s is at version %d already, after %d", key, last, next.number)
	}
	s.clean(folder, all) // a key that nobody lists would keep all its versions
	return versionOf(next.number), nil
}

func lastOf(all []version) uint64 {
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].number
}

// first is the number of first versions. It stands in the folder, so that each member has the same. If the file is damaged another one
// takes its place. All members find the same one, since they look in one order.
func (s *Store) first() (uint64, error) {
	for damaged := 0; ; damaged++ {
		name := firstFile
		if damaged > 0 {
			name = fmt.Sprint(firstFile, "-", damaged)
		}
		path := filepath.Join(s.dir, name)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			now := strconv.FormatInt(max(time.Now().UnixNano(), 1), 10)
			if err := s.link(name, []byte(now)); err != nil && !errors.Is(err, group.ErrConflict) {
				return 0, err
			}
			text, err = os.ReadFile(path)
		}
		if err != nil {
			return 0, err
		}
		if number, err := strconv.ParseUint(string(text), 10, 63); err == nil && number > 0 {
			return number, nil
		}
	}
}

// link gives new content a name that no file has. It answers with ErrConflict if one has it. When it
// returns nil, content and name survive a power cut.
func (s *Store) link(name string, data []byte) error {
	temporary := filepath.Join(s.dir, newFolder, rand.Text())
	path := filepath.Join(s.dir, name)
	err := writeSynced(temporary, data)
	if errors.Is(err, fs.ErrNotExist) { // somebody has removed the folder
		if err := s.again(filepath.Dir(temporary)); err != nil {
			return err
		}
		err = writeSynced(temporary, data)
	}
	if err != nil {
		return err
	}
	defer os.Remove(temporary)
	if err = os.Link(temporary, path); errors.Is(err, fs.ErrNotExist) {
		if err := s.again(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Link(temporary, path)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		// Over NFS the answer to a link may get lost, and the system asks again.
		mine, err1 := os.Stat(temporary)
		there, err2 := os.Stat(path)
		if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
			return group.ErrConflict
		}
	}
	return syncFolder(filepath.Dir(path))
}

// again makes a folder that somebody has removed. It makes none where a volume is not mounted any more: each machine would have a
// store of its own there.
func (s *Store) again(folder string) error {
	there := folder
	for {
		if _, err := os.Stat(there); err == nil || there == filepath.Dir(there) {
			break
		}
		there = filepath.Dir(there)
	}
	if now := deviceOf(there); s.device != 0 && now != s.device {
		return fmt.Errorf("%s is on another file system than at the start: is the volume mounted?", s.dir)
	}
	return os.MkdirAll(folder, 0o700)
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // the first error says more
	}
	return err
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (s *Store) object(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/\\") || strings.HasPrefix(name, ".") {
		return "", fmt.Errorf("object %q", name)
	}
	return filepath.Join(objectFolder, name), nil
}

// PutObject implements the store.
func (s *Store) PutObject(_ context.Context, name string, data []byte) error {
	path, err := s.object(name)
	if err != nil {
		return err
	}
	return s.link(path, data)
}

// GetObject implements the store.
func (s *Store) GetObject(_ context.Context, name string) ([]byte, error) {
	path, err := s.object(name)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(s.dir, path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, group.ErrNotFound
	}
	return data, err
}

// DeleteObject implements the store.
func (s *Store) DeleteObject(_ context.Context, name string) error {
	path, err := s.object(name)
	if err == nil {
		err = os.Remove(filepath.Join(s.dir, path))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ListObjects implements the store.
func (s *Store) ListObjects(_ context.Context, prefix string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, objectFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
