package app

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/window"
)

const (
	// storeFolder is the store's place in the data folder. The embedded server has another: one can be
	// given up without the other.
	storeFolder = "store"
	// socketName is the socket's.
	socketName = "isowatch.sock"
)

// Kind names what is stored.
type Kind string

// Kinds of records in a data folder.
const (
	Findings    Kind = "findings"     // finding.Finding
	Evidence    Kind = "evidence"     // the same, with records as they came in
	DeadLetters Kind = "dead-letters" // engine.DeadLetter
	Panes       Kind = "panes"        // window.Pane
)

var errUnknownKind = errors.New("no records of this kind are stored")

// eachStored gives every record of a kind as JSON, oldest first, panes by source and time. It leaves
// out the records of the self-test.
func eachStored(r engine.Reader, kind Kind, fn func(record []byte) error) error {
	give := func(value any) error {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		return fn(text)
	}
	switch kind {
	case Findings, Evidence:
		return r.Each(func(f *finding.Finding) (err error) {
			if f.Source == config.SelfTestSource {
				return nil
			}
			if kind == Evidence {
				if f.Raw, err = r.Raw(f.ID); err != nil {
					return err
				}
			}
			return give(f)
		})
	case DeadLetters:
		return r.DeadLetters(func(d *engine.DeadLetter) error { return give(d) })
	case Panes:
		return r.Panes(func(p *window.Pane) error {
			if p.Source == config.SelfTestSource {
				return nil
			}
			return give(p)
		})
	}
	return fmt.Errorf("%w: %q", errUnknownKind, kind)
}
