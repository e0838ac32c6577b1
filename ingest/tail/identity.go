package tail

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/zeebo/xxh3"

	"github.com/isowatch/isowatch/ingest/tail/lines"
)

// fingerprintMost bytes of a file's beginning tell it from others.
const fingerprintMost = 1000

// inode names a file while it exists: a later file may get the same one.
type inode struct{ dev, ino uint64 }

func inodeOf(info os.FileInfo) inode {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return inode{uint64(st.Dev), st.Ino}
	}
	return inode{}
}

// unlinked reports that no name leads to the file any more.
func unlinked(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}

// identity names a generation for good: its inode, and a fingerprint of its
// first bytes, at least the first line. The content alone recognises it where
// it was copied or compressed. A file without a line yet has its inode only.
type identity struct {
	inode
	n    int    // bytes in the fingerprint, 0..fingerprintMost
	hash uint64 // xxh3 of them
}

func (id identity) known() bool { return id.n > 0 }

func (id identity) sameContent(other identity) bool { return id.n == other.n && id.hash == other.hash }

// String is the form kept in cursors.
func (id identity) String() string {
	return fmt.Sprintf("%x.%d.%d.%016x", id.dev, id.ino, id.n, id.hash)
}

// parseIdentity reads what String gave.
func parseIdentity(s string) (identity, error) {
	var id identity
	_, err := fmt.Sscanf(s, "%x.%d.%d.%x", &id.dev, &id.ino, &id.n, &id.hash)
	if err != nil || id.n < 0 || id.n > fingerprintMost || id.String() != s {
		return identity{}, fmt.Errorf("tail: %q is not an identity of a file", s)
	}
	return id, nil
}

// fingerprint hashes the first n bytes of content.
func fingerprint(content io.Reader, n int) (uint64, error) {
	var first [fingerprintMost]byte
	if _, err := io.ReadFull(content, first[:n]); err != nil {
		return 0, err
	}
	return xxh3.Hash(first[:n]), nil
}

// identify fingerprints the first n bytes of the file at path, decompressed.
func identify(path string, n int) (identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return identity{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return identity{}, err
	}
	content, _, err := lines.Unpack(whole(f))
	if err != nil {
		return identity{}, fmt.Errorf("%s: %w", path, err)
	}
	hash, err := fingerprint(content, n)
	if err != nil {
		return identity{}, err
	}
	return identity{inode: inodeOf(info), n: n, hash: hash}, nil
}
