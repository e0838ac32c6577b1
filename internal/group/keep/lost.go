package keep

import (
	"context"
	"encoding/json"
	"slices"

	isostore "github.com/isowatch/isowatch/store"

	"github.com/isowatch/isowatch/internal/group/store"
)

// Names are the objects that the state in the store names.
func (k *Keeper) Names() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.names)
}

// Lost says that the store has lost a part of the state. A new copy takes its place, and findings wait until it is there.
func (k *Keeper) Lost(why error) {
	k.mu.Lock()
	told := k.lost
	if !told {
		k.lost, k.failed, k.broken = true, why, true
		k.from += uint64(len(k.log)) + 1 // what the record has is not enough any more, also if the log is empty
		k.log = nil
	}
	k.mu.Unlock()
	if !told {
		k.o.Log.Error("the group's store has lost a part of the state of the unit: a new copy is made. Look who removes it there", "err", why)
		k.poke()
	}
}

// Place is where a successor may begin that lacks the state, once the keeper has stopped.
func (k *Keeper) Place() json.RawMessage {
	select {
	case <-k.done:
	default: // it was never started, or has not ended
		data, _ := k.State()
		return Place(data)
	}
	return k.place()
}

// ReadSome is Read of what the store still has of a state: a part that cannot be read is left out.
func ReadSome(ctx context.Context, o store.Objects, data []byte, fn func(isostore.Entry) error) {
	whole, err := readRecord(data)
	if err != nil {
		return
	}
	parts := []record{{Base: whole.Base}}
	for _, p := range whole.Pieces {
		parts = append(parts, record{Pieces: []piece{p}})
	}
	for _, part := range append(parts, record{tail: whole.tail}) {
		part.Format = formatVersion
		if text, err := part.append(nil); err == nil {
			_ = Read(ctx, o, text, fn) // a part that is cut off ends early
		}
	}
}
