package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
)

// checkTables says which table of the manifest has a footer that names more bytes than the file
// has. Badger v4.9.6 panics on one, in a goroutine of its own, and takes the process with it.
// It returns any other fault as an error. A killed process leaves files that the manifest does
// not name: Badger removes them.
func checkTables(dir string, o badger.Options) error {
	file, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return nil // a new store, or Badger says what is wrong
	}
	defer file.Close()
	manifest, _, err := badger.ReplayManifestFile(file, o.ExternalMagicVersion, o)
	if err != nil {
		return nil // Badger says what is wrong
	}
	for id := range manifest.Tables {
		name := table.NewFilename(id, dir)
		if err := checkFooter(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // Badger says what is missing
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	return nil
}

// checkFooter checks the end of a table: index, its length, checksum, its length. Lengths have 4 bytes,
// big-endian, and an index has more.
func checkFooter(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	at := info.Size()
	for _, least := range []int64{0, 4} { // of the checksum, of the index
		var length [4]byte
		if at -= 4; at < 0 {
			return fmt.Errorf("it has %d bytes, and is cut", info.Size())
		}
		if _, err := file.ReadAt(length[:], at); err != nil {
			return err
		}
		n := int64(binary.BigEndian.Uint32(length[:]))
		if at -= n; n < least || at < 0 {
			return fmt.Errorf("its footer names %d bytes, and the file has %d: it is damaged", n, info.Size())
		}
	}
	return nil
}
