// Package keep keeps the state of a unit in the store of its group. The state is a copy of the unit's own store, and the
// commits since.
package keep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	isostore "github.com/isowatch/isowatch/store"

	"github.com/isowatch/isowatch/internal/group/store"
)

// formatVersion is the version of a record's form.
const formatVersion = 1

// ErrFormat marks a record that a later version of the program wrote.
var ErrFormat = errors.New("the state of the unit has a form that this version does not know")

// record is the state of a unit: a copy, pieces of the log behind it, and the log's end. As text it is a line
// of JSON, and the end.
type record struct {
	Format int             `json:"format"`
	Writer string          `json:"writer"` // the version of the program, for people
	Base   *store.Manifest `json:"base,omitempty"`
	// BaseEnd is where in the log the copy was made.
	BaseEnd uint64  `json:"base_end"`
	Pieces  []piece `json:"pieces,omitempty"`
	Tail    uint64  `json:"tail"` // where the end begins in the log
	// Place is where a successor that cannot read the rest may begin. Begin is where the unit began without its state.
	Place json.RawMessage `json:"place,omitempty"`
	Begin json.RawMessage `json:"begin,omitempty"`

	tail []byte
}

// piece is a part of the log that is an object.
type piece struct {
	From uint64 `json:"from"` // where it begins in the log
	store.Piece
}

func (r *record) end() uint64 { return r.Tail + uint64(len(r.tail)) }

func (r *record) append(dst []byte) ([]byte, error) {
	head, err := json.Marshal(r)
	return append(append(append(dst, head...), '\n'), r.tail...), err
}

func readRecord(data []byte) (*record, error) {
	r := &record{Format: formatVersion}
	if len(data) == 0 {
		return r, nil
	}
	head, tail, ok := bytes.Cut(data, []byte("\n"))
	if err := json.Unmarshal(head, r); err != nil || !ok {
		return nil, fmt.Errorf("%w: %w", store.ErrDamaged, errors.Join(err, errors.New("its record cannot be read")))
	}
	if r.Format != formatVersion {
		return nil, fmt.Errorf("%w: form %d, written by %s", ErrFormat, r.Format, r.Writer)
	}
	r.tail = tail
	return r, nil
}

// Fresh gives a state that has only the place to begin at.
func Fresh(version string, begin json.RawMessage) ([]byte, error) {
	r := record{Format: formatVersion, Writer: version, Place: begin, Begin: begin}
	return r.append(nil)
}

// Begins is where the unit of this state began without its state; nil: it never did.
func Begins(data []byte) json.RawMessage {
	r, err := readRecord(data)
	if err != nil {
		return nil
	}
	return r.Begin
}

// Place is where a successor may begin that cannot read the rest of the state; nil: that is not known. It
// reads records of other forms too.
func Place(data []byte) json.RawMessage {
	head, _, _ := bytes.Cut(data, []byte("\n"))
	var r struct{ Place json.RawMessage }
	if json.Unmarshal(head, &r) != nil {
		return nil
	}
	return r.Place
}

// manifest is the pieces as a snapshot.
func (p *piece) manifest() store.Manifest {
	return store.Manifest{Format: 1, Name: p.Name, Objects: []store.Piece{p.Piece}}
}

// names has the names of all objects.
func (r *record) names() map[string]bool {
	all := map[string]bool{}
	if r.Base != nil {
		for _, p := range r.Base.Objects {
			all[p.Name] = true
		}
	}
	for i := range r.Pieces {
		all[r.Pieces[i].Name] = true
	}
	return all
}

// load writes the copy and the log behind it.
func (r *record) load(ctx context.Context, o store.Objects, to io.Writer) error {
	if r.Base != nil {
		if err := store.Load(ctx, o, *r.Base, to); err != nil {
			return err
		}
	}
	for i := range r.Pieces {
		if err := store.Load(ctx, o, r.Pieces[i].manifest(), to); err != nil {
			return err
		}
	}
	_, err := to.Write(r.tail)
	return err
}

// Read gives what was committed to a unit's store, in order, by the state that Commit wrote. If the state
// changes meanwhile, the error may be group.ErrNotFound.
func Read(ctx context.Context, o store.Objects, data []byte, fn func(isostore.Entry) error) error {
	return through(ctx, o, data, func(from io.Reader) error { return isostore.EachCommitted(from, fn) })
}

// Restore fills an empty store with the state.
func Restore(ctx context.Context, o store.Objects, data []byte, st *isostore.Store) error {
	return through(ctx, o, data, func(from io.Reader) error { return st.Restore(ctx, from) })
}

func through(ctx context.Context, o store.Objects, data []byte, fn func(io.Reader) error) error {
	r, err := readRecord(data)
	if err != nil {
		return err
	}
	from, to := io.Pipe()
	loaded := make(chan error, 1)
	go func() {
		err := r.load(ctx, o, to)
		to.CloseWithError(err) // nil: the end
		loaded <- err
	}()
	err = fn(from)
	from.CloseWithError(errors.New("no more is wanted"))
	if failed := <-loaded; failed != nil && err != nil {
		return failed // it is why the reading failed
	}
	return err
}
