package store

import (
	"reflect"
	"sync/atomic"
	"unsafe"

	"github.com/dgraph-io/badger/v4"
)

// A calm store writes its table in memory out early, so that it takes little memory. Badger sets memory for a whole table
// aside, and a calm store fills it within hours. Then the next table takes the memory of the last one, which is resident.
const (
	calmTable = 512 << 10
	calmBytes = 64 << 10 // committed from one look to the next: a store with more is not calm
	calmRest  = 64 << 10 // behind the entries of a table, stays in memory
)

// memTable are the parts of Badger's table in memory that calm looks at. Badger has no option for them. ok is false where
// Badger has other ones.
var memTable = func() (at struct {
	table, limit, list, arena, used, bytes uintptr
	ok                                     bool
}) {
	field := func(t reflect.Type, name string, kind reflect.Kind) (reflect.Type, uintptr) {
		if t == nil || t.Kind() != reflect.Struct {
			return nil, 0
		}
		f, ok := t.FieldByName(name)
		switch {
		case !ok || f.Type.Kind() != kind:
			return nil, 0
		case kind == reflect.Pointer:
			return f.Type.Elem(), f.Offset
		}
		return f.Type, f.Offset
	}
	table, offset := field(reflect.TypeFor[badger.DB](), "mt", reflect.Pointer)
	at.table = offset
	options, offset := field(table, "opt", reflect.Struct)
	limit, inside := field(options, "MemTableSize", reflect.Int64)
	at.limit = offset + inside
	list, offset := field(table, "sl", reflect.Pointer)
	at.list = offset
	arena, offset := field(list, "arena", reflect.Pointer)
	at.arena = offset
	used, offset := field(arena, "n", reflect.Struct)
	at.used = offset
	bytes, offset := field(arena, "buf", reflect.Slice)
	at.bytes = offset
	at.ok = limit != nil && used == reflect.TypeFor[atomic.Uint32]() && bytes == reflect.TypeFor[[]byte]()
	return at
}()

// calm bounds the table in memory by what was committed since the look before, and gives back the memory of a new table. Nothing else
// writes meanwhile.
func (s *Store) calm() {
	written := s.Committed()
	since := written - s.calmed.written
	s.calmed.written = written
	if !memTable.ok || s.options.InMemory {
		return
	}
	limit := s.options.MemTable
	if since < calmBytes {
		limit = min(limit, calmTable)
	}
	if !s.writes.TryLock() {
		return // it may take long, and commits would wait
	}
	defer s.writes.Unlock()
	if s.closed.Load() {
		return
	}
	table := *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(s.db), memTable.table))
	*(*int64)(unsafe.Add(table, memTable.limit)) = limit // Badger looks at it before each write
	rest := restOf(table)
	s.untouched.Store(int64(len(rest)))
	if table != s.calmed.table {
		giveBack(rest)
	}
	s.calmed.table = table
}

// restOf is the memory of the table that holds nothing yet.
func restOf(table unsafe.Pointer) []byte {
	list := *(*unsafe.Pointer)(unsafe.Add(table, memTable.list))
	arena := *(*unsafe.Pointer)(unsafe.Add(list, memTable.arena))
	used, bytes := (*atomic.Uint32)(unsafe.Add(arena, memTable.used)).Load(), *(*[]byte)(unsafe.Add(arena, memTable.bytes))
	return bytes[min(int(used)+calmRest, len(bytes)):]
}

// calmed has the findings of the last look.
type calmed struct {
	written uint64
	table   unsafe.Pointer
}

// Untouched is how much of its table in memory the store had not touched at the last look, bytes. The Go runtime counts it as used.
func (s *Store) Untouched() int64 { return s.untouched.Load() }
