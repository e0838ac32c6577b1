package file

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/internal/group/storetest"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConforms(t *testing.T) {
	dir := t.TempDir()
	storetest.Conform(t, func(t *testing.T) store.Store { return open(t, dir) })
}

func TestURL(t *testing.T) {
	for _, text := range []string{"file://host/dir", "file:dir", "file:///dir?x=1"} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(u); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
	// A volume that is not mounted is no folder of this machine.
	dir := filepath.Join(t.TempDir(), "volume", "group")
	_, err := Open(&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)})
	if err == nil || !strings.Contains(err.Error(), "mkdir "+dir) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); err == nil {
		t.Error("the folder was made")
	}
}

// A writer that is so far behind that its number was removed does not win, and nobody sees its content.
func TestFarBehind(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	first, err := s.Create(ctx, "a/x", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	version := first
	for range 5 {
		if version, err = s.Update(ctx, "a/x", []byte("2"), version); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.List(ctx, "a/"); err != nil {
		t.Fatal(err)
	}
	if names, _ := filepath.Glob(filepath.Join(s.dir, "a", "*")); len(names) != 2 {
		t.Errorf("%q are left, want the last two", names)
	}
	if _, err := s.Update(ctx, "a/x", []byte("3"), first); !errors.Is(err, group.ErrConflict) {
		t.Errorf("an old writer: %v", err)
	}
	// Between its look at the folder and its link the others may have come this far.
	number, err := strconv.ParseUint(string(first), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.link("a/"+version0("x", number+1), []byte("stale")); err != nil {
		t.Fatal(err)
	}
	v, err := s.Get(ctx, "a/x")
	if err != nil || v.Version != version || string(v.Data) != "2" {
		t.Errorf("got %+v, %v", v, err)
	}
}

func version0(key string, number uint64) string { return version{key, number}.file() }

// A process that was killed between writing and linking leaves nothing that counts.
func TestHalfWritten(t *testing.T) {
	s := open(t, t.TempDir())
	if err := os.WriteFile(filepath.Join(s.dir, newFolder, "left"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := s.List(t.Context(), "a/")
	if err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestFolderIsRemoved: whoever uses the folder makes it again. Nothing of before counts: no version, and no content that was read.
func TestFolderIsRemoved(t *testing.T) {
	for _, all := range []bool{true, false} {
		s := open(t, folder(t))
		ctx := t.Context()
		before, err := s.Create(ctx, "a/x", []byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := s.List(ctx, "a/"); err != nil || len(v) != 1 {
			t.Fatal(v, err)
		}
		if all {
			err = os.RemoveAll(s.dir)
		} else {
			err = errors.Join(os.RemoveAll(filepath.Join(s.dir, "a")), os.RemoveAll(filepath.Join(s.dir, newFolder)), os.RemoveAll(filepath.Join(s.dir, objectFolder)), os.Remove(filepath.Join(s.dir, firstFile)))
		}
		if err != nil {
			t.Fatal(err)
		}
		if names, err := s.ListObjects(ctx, ""); err != nil || len(names) != 0 {
			t.Errorf("objects %v, %v", names, err)
		}
		after, err := s.Create(ctx, "a/x", []byte("after"))
		if err != nil || after == before {
			t.Fatalf("version %s, before %s: %v", after, before, err)
		}
		if v, err := s.List(ctx, "a/"); err != nil || len(v) != 1 || string(v[0].Data) != "after" {
			t.Errorf("it lists %v, %v", v, err)
		}
		if _, err := s.Update(ctx, "a/x", []byte("x"), before); !errors.Is(err, group.ErrConflict) {
			t.Errorf("a write to a version of before: %v", err)
		}
		if err := s.PutObject(ctx, "o", []byte("x")); err != nil {
			t.Error(err)
		}
	}
}

// TestVolumeIsGone: below a volume that is not mounted any more no store is made: each machine would have one of its own.
func TestVolumeIsGone(t *testing.T) {
	s := open(t, folder(t))
	if s.device == 0 {
		t.Skip("file systems are not told apart here")
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	s.device++
	if _, err := s.Create(t.Context(), "a/x", []byte("1")); err == nil || !strings.Contains(err.Error(), "mounted") {
		t.Errorf("a record: %v", err)
	}
	if err := s.PutObject(t.Context(), "o", []byte("1")); err == nil {
		t.Error("an object is written")
	}
	if all, err := s.List(t.Context(), "a/"); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// folder is one that a test may remove.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "group")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDamagedFiles: a file that is damaged after it was listed shows soon. The file with the first number may be damaged too, and files of
// others are left alone.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.reread = 10 * time.Millisecond
	if _, err := s.Create(t.Context(), "a/b", []byte("1")); err != nil {
		t.Fatal(err)
	}
	list := func() string {
		all, err := s.List(t.Context(), "a/")
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		return string(all[0].Data)
	}
	list()
	files, err := filepath.Glob(filepath.Join(dir, "a", "b@*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for path, text := range map[string]string{files[0]: "garbage", filepath.Join(dir, "a", "b@9999999999999999999"): "other", filepath.Join(dir, firstFile): "x"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(10 * time.Second); list() != "garbage"; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the damage does not show")
		}
	}
	if _, err := s.Create(t.Context(), "a/c", []byte("1")); err != nil {
		t.Error(err)
	}
	first, err := s.first()
	if again, err2 := open(t, dir).first(); err != nil || err2 != nil || first != again {
		t.Errorf("first numbers are %d and %d (%v, %v)", first, again, err, err2)
	}
}
