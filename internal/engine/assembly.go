package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/store"
)

// Open transactions are kept in a log (event/assemble_state.go). Each step writes its changes under
// its number, in pieces of deltaPart bytes. The length of the whole comes before the first piece,
// since pieces of a step that was cut off may follow. The first step of a life always writes, over
// anything that a step that was cut off left.

// putAssembly writes what the step changed.
func (e *Engine) putAssembly(w *work, h *head, out *writes) error {
	h.Assembly = w.assemblySince
	if len(w.assembly) == 0 {
		return nil
	}
	rest := append(binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(w.assembly)), uint64(len(w.assembly))), w.assembly...)
	for part := 0; len(rest) > 0; part++ {
		n := min(len(rest), deltaPart)
		if err := out.early(spaceAssembly, deltaKey(h.Step, part), rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if cap(w.assembly) > 4<<20 {
		w.assembly = nil
	}
	return nil
}

// assemblyMost entries and assemblyMostBytes bound the removals of one commit. A step writes less than
// that, except for the largest records.
const (
	assemblyMost      = 1000
	assemblyMostBytes = 32 << 20
)

// trimAssembly removes what is not needed any more, the oldest first.
func (e *Engine) trimAssembly(h *head, put func(store.Entry)) error {
	if h.AssemblyGone >= h.Assembly {
		return nil
	}
	entries, bytes := 0, 0
	err := e.store.Scan(spaceAssembly, deltaKey(h.AssemblyGone, 0), deltaKey(h.Assembly, 0), func(key, value []byte) error {
		h.AssemblyGone = order64(key) // the entry may have more pieces
		if entries == assemblyMost || bytes > assemblyMostBytes {
			return errStop
		}
		entries++
		bytes += len(value)
		put(store.Entry{Space: spaceAssembly, Key: append([]byte(nil), key...), Delete: true})
		return nil
	})
	if err == nil {
		h.AssemblyGone = h.Assembly
	} else if errors.Is(err, errStop) {
		err = nil
	}
	return err
}

// readAssembly restores the open transactions.
func (e *Engine) readAssembly() error {
	var open event.Restored
	err := e.eachStep(spaceAssembly, e.head.Assembly, func(n uint64, changes []byte) error {
		if len(changes) < 8 || binary.LittleEndian.Uint64(changes) > uint64(len(changes)-8) {
			return fmt.Errorf("open transactions: %w", errDelta)
		}
		return open.Add(n, changes[8:8+binary.LittleEndian.Uint64(changes)])
	})
	if err != nil {
		return err
	}
	return open.Into(&e.assembler)
}
