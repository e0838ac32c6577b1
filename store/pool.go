package store

import (
	"path/filepath"
	"reflect"
	"time"
	"unsafe"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/ristretto/v2/z"
)

// dropPool takes away Badger's pool of memory for the tables that it writes, and returns it. The pool holds eight
// pieces. Each grows to the largest table that it was ever used for: 60 MB with a memory table of 16 MiB. Badger has
// no option for it. Without a pool it allocates memory for each table, and the collector takes that back. The
// result is nil where Badger keeps its pool.
func dropPool(db *badger.DB, dir string) *z.AllocatorPool {
	field, ok := reflect.TypeFor[badger.DB]().FieldByName("allocPool")
	if !ok || field.Type != reflect.TypeFor[*z.AllocatorPool]() || !recovered(dir) {
		return nil
	}
	stopCompactions(db) // nothing else reads the field now
	defer startCompactions(db)
	_ = db.View(func(txn *badger.Txn) error { _, err := txn.Get([]byte{0}); return err }) // takes the lock that the writer of tables has held
	at := (**z.AllocatorPool)(unsafe.Add(unsafe.Pointer(db), field.Offset))
	pool := *at
	*at = nil
	return pool
}

const recoverWait = 5 * time.Second

// recovered waits until the memory tables of a process that was killed are written out. Then only the new one is there.
func recovered(dir string) bool {
	for deadline := time.Now().Add(recoverWait); ; time.Sleep(5 * time.Millisecond) {
		logs, err := filepath.Glob(filepath.Join(dir, "*.mem"))
		if err == nil && len(logs) <= 1 {
			return true
		}
		if err != nil || time.Now().After(deadline) {
			return false
		}
	}
}
