package window

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/isolation"
)

// layoutNumber is the number of the layout that AppendState writes. oldestLayout is the first
// one that ReadState reads. A release reads the snapshots of the one before it.
//
// Package flat writes the names of fields, and takes over the fields that both layouts have. A
// field that moves, grows, comes or goes needs no new number. A new number is needed where
// sections come or go, and where a number means something else.
//
//	18  sections and fields have names
const (
	layoutNumber = 18
	oldestLayout = 18
)

// ErrLayout: another version of the program wrote the state, in a layout that this one does not read.
var ErrLayout = errors.New("unknown layout")

// ErrOlder is an [ErrLayout]: a release before has read the layout.
var ErrOlder = fmt.Errorf("%w, an older one", ErrLayout)

// stateLayout is the beginning of a snapshot.
type stateLayout struct {
	Layout int      `json:"layout"`
	Order  string   `json:"byte_order"`
	Levels []string `json:"levels"`
	// Bases are the names of the levels that stand as numbers in what follows, from 1 on.
	Bases []string `json:"bases"`
}

func (m *Machine) layout() []byte {
	l := stateLayout{layoutNumber, flat.ByteOrder(), isolation.LevelNames(m.views), isolation.BaseNames()}
	text, err := json.Marshal(&l)
	if err != nil {
		panic(fmt.Sprintf("window: layout of a snapshot: %v", err)) // only strings and numbers are in it
	}
	return text
}

// readLayout reads what layout wrote, and says whether this program reads what follows.
func (m *Machine) readLayout(r *flat.Reader) error {
	var text []byte
	var l stateLayout
	if flat.Read(r, "layout", &text); r.Err != nil || json.Unmarshal(text, &l) != nil {
		return fmt.Errorf("%w: snapshot of an earlier layout than %d, the first that this program reads", ErrOlder, oldestLayout)
	}
	if l.Layout < oldestLayout {
		return fmt.Errorf("%w: snapshot of layout %d, this program reads %d to %d", ErrOlder, l.Layout, oldestLayout, layoutNumber)
	}
	if l.Layout > layoutNumber {
		return fmt.Errorf("%w: snapshot of layout %d, this program reads %d to %d", ErrLayout, l.Layout, oldestLayout, layoutNumber)
	}
	if order := flat.ByteOrder(); l.Order != order {
		return fmt.Errorf("snapshot of a machine with %s-endian byte order, this one has %s", l.Order, order)
	}
	if views := isolation.LevelNames(m.views); !slices.Equal(l.Levels, views) {
		return fmt.Errorf("snapshot of levels %v, not %v", l.Levels, views)
	}
	if bases := isolation.BaseNames(); len(l.Bases) > len(bases) || !slices.Equal(l.Bases, bases[:len(l.Bases)]) {
		return fmt.Errorf("%w: snapshot with the levels %v numbered, this program numbers %v", ErrLayout, l.Bases, bases)
	}
	return nil
}
