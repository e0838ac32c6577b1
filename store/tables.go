package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// ErrDamaged: a file of the store is missing, cut short or altered.
var ErrDamaged = errors.New("the store is damaged")

// checkFiles says whether Badger may open the folder. Badger v4.9.6 makes an empty store where the
// manifest is missing, and removes the tables. It panics on a table with a wrong footer, in a goroutine of its
// own, and takes the process with it. Where a block of a table fails its checksum, it finds nothing, and no error.
func checkFiles(ctx context.Context, dir string, o badger.Options) error {
	if o.InMemory {
		return nil
	}
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	manifest := false
	for _, f := range files {
		manifest = manifest || f.Name() == badger.ManifestFilename
		if err := checkFile(f); err != nil {
			return err
		}
	}
	if !manifest {
		return checkNoManifest(files)
	}
	return checkTables(ctx, dir, o)
}

// isOurs says whether a file belongs to the store, and only comes after the manifest. Badger makes the
// manifest first, after its lock.
func isOurs(name string) bool {
	return slices.Contains([]string{markerName, badger.KeyRegistryFileName, "DISCARD"}, name) ||
		slices.Contains([]string{".sst", ".mem", ".vlog", generationExtension}, filepath.Ext(name))
}

// checkFile refuses folders and cut logs, on which Badger ends the process. A kill leaves a log empty,
// or with its header.
func checkFile(f fs.DirEntry) error {
	if !isOurs(f.Name()) && f.Name() != badger.ManifestFilename {
		return nil
	}
	info, err := f.Info()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is no file", ErrDamaged, f.Name())
	}
	const header = 20
	if ext := filepath.Ext(f.Name()); (ext == ".mem" || ext == ".vlog") && info.Size() > 0 && info.Size() < header {
		return fmt.Errorf("%w: %s has %d bytes, and is cut", ErrDamaged, f.Name(), info.Size())
	}
	return nil
}

// checkNoManifest says whether a folder without a manifest is a new one.
func checkNoManifest(files []fs.DirEntry) error {
	for _, f := range files {
		if isOurs(f.Name()) {
			return fmt.Errorf("%w: %s is missing, and %s is there", ErrDamaged, badger.ManifestFilename, f.Name())
		}
	}
	return nil
}

// checkTables checks footers and checksums of the tables that the manifest names. A killed process leaves
// files that the manifest does not name: Badger removes them.
func checkTables(ctx context.Context, dir string, o badger.Options) error {
	tables, err := tablesOf(dir, o)
	if err != nil {
		return err
	}
	for id, of := range tables {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := table.NewFilename(id, dir)
		err := checkTable(name, of.Compression)
		if err == nil || errors.Is(err, fs.ErrNotExist) { // Badger says what is missing
			continue
		}
		// Badger cuts a table that it has replaced, before it removes it.
		if now, again := tablesOf(dir, o); again == nil {
			if _, used := now[id]; !used {
				continue
			}
		}
		return fmt.Errorf("%w: table %s: %w", ErrDamaged, name, err)
	}
	return nil
}

// tablesOf are the tables that the manifest of the folder names.
func tablesOf(dir string, o badger.Options) (map[uint64]badger.TableManifest, error) {
	file, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	manifest, _, err := badger.ReplayManifestFile(file, o.ExternalMagicVersion, o)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, badger.ManifestFilename, err)
	}
	return manifest.Tables, nil
}

// checkTable checks the footer of a table, its index and its blocks.
func checkTable(name string, compression options.CompressionType) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	index, err := checkFooter(file)
	if err != nil || compression != options.None { // a packed block has the checksum of its unpacked bytes
		return err
	}
	return checkBlocks(file, fb.GetRootAsTableIndex(index, 0))
}

// checkFooter checks the end of a table and returns its index. The end is the index, its length, a
// checksum, and its length. Lengths have 4 bytes, big-endian, and an index has more.
func checkFooter(file *os.File) (index []byte, err error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	at := info.Size()
	var parts [2][]byte
	for i, least := range []int64{0, 4} { // of the checksum, of the index
		var length [4]byte
		if at -= 4; at < 0 {
			return nil, fmt.Errorf("it has %d bytes, and is cut", info.Size())
		}
		if _, err := file.ReadAt(length[:], at); err != nil {
			return nil, err
		}
		n := int64(binary.BigEndian.Uint32(length[:]))
		if at -= n; n < least || at < 0 {
			return nil, fmt.Errorf("its footer names %d bytes, and the file has %d", n, info.Size())
		}
		parts[i] = make([]byte, n)
		if _, err := file.ReadAt(parts[i], at); err != nil {
			return nil, err
		}
	}
	return parts[1], verify(parts[1], parts[0])
}

// checkBlocks checks the checksum of each block. A block ends with a checksum and its length.
func checkBlocks(file *os.File, index *fb.TableIndex) error {
	in, at := bufio.NewReaderSize(file, 1<<20), int64(0)
	var block []byte
	for i := range index.OffsetsLength() {
		var b fb.BlockOffset
		if !index.Offsets(&b, i) {
			return fmt.Errorf("block %d is not in the index", i)
		}
		if int64(b.Offset()) != at { // blocks follow each other
			return fmt.Errorf("block %d begins at byte %d, and not at %d", i, b.Offset(), at)
		}
		n := int(b.Len())
		at += int64(n)
		block = slices.Grow(block[:0], n)[:n]
		if _, err := io.ReadFull(in, block); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		sum := n - 4
		if sum > 0 {
			sum -= int(binary.BigEndian.Uint32(block[sum:]))
		}
		if sum < 0 || sum > n-4 {
			return fmt.Errorf("block %d has no checksum", i)
		}
		if err := verify(block[:sum], block[sum:n-4]); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	return nil
}

// verify compares data with its checksum, a message of Protocol Buffers: kind (field 1), sum (field 2).
func verify(data, checksum []byte) error {
	var fields [3]uint64
	for len(checksum) > 0 {
		tag, n := binary.Uvarint(checksum)
		if n <= 0 || tag != 1<<3 && tag != 2<<3 { // a number of field 1 or 2
			return errors.New("its checksum cannot be read")
		}
		value, k := binary.Uvarint(checksum[n:])
		if k <= 0 {
			return errors.New("its checksum cannot be read")
		}
		fields[tag>>3] = value
		checksum = checksum[n+k:]
	}
	kind := pb.Checksum_Algorithm(fields[1])
	if kind != pb.Checksum_CRC32C && kind != pb.Checksum_XXHash64 {
		return fmt.Errorf("checksum of kind %d", kind) // Badger panics on one
	}
	if y.CalculateChecksum(data, kind) != fields[2] {
		return errors.New("its checksum is wrong")
	}
	return nil
}
