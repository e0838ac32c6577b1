package keep

import (
	"encoding/json"
	"slices"
	"time"
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
	for len(k.places) > 1 && time.Since(k.places[1].at) > k.o.Back {
		k.places = k.places[1:]
	}
	if len(k.places) > 0 && time.Since(k.places[0].at) > k.o.Back {
		return k.places[0].text
	}
	return k.record.Place
}
