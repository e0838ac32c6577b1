package app

import (
	"encoding/json"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/whole"
)

// hiding hides values of findings on their way to sinks, pages and the API. The machine made their
// texts with hashes. The store keeps the records of their history, so that their owner can replay them.
type hiding struct {
	key   string // secret of the folder
	hides func(source string) bool
}

// finding hides the values of f, which is the caller's own.
func (h *hiding) finding(f *finding.Finding) {
	if h == nil || !h.hides(f.Source) {
		return
	}
	whole.HideFinding(h.key, f)
}

// hidingOutbox gives sinks findings with hidden values.
type hidingOutbox struct {
	alert.Outbox
	hiding *hiding
}

// Pending implements [alert.Outbox].
func (o hidingOutbox) Pending(sink string, most int) ([]alert.Delivery, error) {
	all, err := o.Outbox.Pending(sink, most)
	for i := range all {
		d := &all[i]
		if o.hiding == nil || !o.hiding.hides(d.Finding.Source) {
			continue
		}
		o.hiding.finding(&d.Finding)
		if d.JSON, err = json.Marshal(&d.Finding); err != nil {
			return nil, err
		}
	}
	return all, err
}

// makeHiding reads the folder's secret.
func (a *App) makeHiding() error {
	key, err := a.shelf.reader.Secret()
	a.hiding = &hiding{key, func(source string) bool { return !a.watchOf(source).ShowValues }}
	a.shelf.hiding = a.hiding
	return err
}

// HideValues hides the values of f, the caller's own, where its source hides them.
func (a *App) HideValues(f *finding.Finding) { a.hiding.finding(f) }

// HideKey is the key of the hashes that stand in place of values.
func (a *App) HideKey() string { return a.hiding.key }
