package verify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// checkChoices derives the edges and choices of the witness from its operations,
// and that whatever is chosen closes a cycle at the level.
func checkChoices(w *finding.Witness) error {
	for i := range w.Edges {
		e := &w.Edges[i]
		if err := checkEdge(w, e); err != nil {
			return fmt.Errorf("edge %d, %s %s -> %s: %w", i, e.Label, w.Txns[e.From].ID, w.Txns[e.To].ID, err)
		}
	}
	sound := map[string]bool{} // keys of pairs
	for i := range w.Choices {
		c := &w.Choices[i]
		err := checkChoice(w, c)
		if err == nil && len(c.Writers) == 0 && !sound[c.Key] {
			sound[c.Key] = true
			err = checkReads(w, c.Key)
		}
		if err != nil {
			return fmt.Errorf("choice %d, of %s: %w", i, c.Key, err)
		}
	}
	return checkOrders(w)
}

func checkChoice(w *finding.Witness, c *finding.Choice) error {
	if len(c.Writers) > 0 {
		return checkWriters(w, c)
	}
	a, b := &w.Txns[c.A], &w.Txns[c.B]
	_, wrote := finalWrite(a, c.Key)
	_, too := finalWrite(b, c.Key)
	if !wrote && !too && writesKey(a, c.Key) && writesKey(b, c.Key) { // appends
		wrote, too = true, true
	}
	switch {
	case c.A == c.B:
		return errors.New("one transaction leaves no choice")
	case a.Status == event.Aborted || b.Status == event.Aborted:
		return errors.New("an aborted transaction takes part")
	case a.Source != b.Source || a.Epoch != b.Epoch:
		return errors.New("the transactions are of two histories")
	case w.Rows && (deleted(a, c.Key) || deleted(b, c.Key)):
		return errors.New("a row of it was deleted: its writers may have written two")
	case !wrote || !too:
		return fmt.Errorf("not both of %s and %s wrote it", a.ID, b.ID)
	}
	return nil
}

// checkReads: each read of the key is of what one transaction left, unless it is said to
// be of several.
func checkReads(w *finding.Witness, key string) error {
	for r := range w.Txns {
		if !repeated(w, r, key) && severalLeft(w, r, key) {
			return fmt.Errorf("several left what %s read", w.Txns[r].ID)
		}
	}
	return nil
}

// repeated says whether several may have written what the transaction read of the key.
func repeated(w *finding.Witness, txn int, key string) bool {
	return slices.Contains(w.Repeated, finding.DuplicateRead{Txn: txn, Key: key})
}

// severalLeft says whether several transactions left what the r-th one read of the key.
func severalLeft(w *finding.Witness, r int, key string) bool {
	o, ok := externalRead(&w.Txns[r], key)
	if !ok || o.Flags&(event.NotFound|event.IsArray) != 0 {
		return false
	}
	n := 0
	for t := range w.Txns {
		if left, wrote := finalWrite(&w.Txns[t], key); wrote && left.Value == o.Value && w.Txns[t].Status != event.Aborted {
			n++
		}
	}
	return n > 1
}

// checkWriters: A read what each of the writers had left, and no other transaction
// that is known here.
func checkWriters(w *finding.Witness, c *finding.Choice) error {
	a := &w.Txns[c.A]
	o, ok := externalRead(a, c.Key)
	switch {
	case !ok || o.Flags&(event.NotFound|event.IsArray) != 0:
		return fmt.Errorf("%s did not read a value", a.ID)
	case a.Status == event.Aborted:
		return errors.New("an aborted transaction takes part")
	case !repeated(w, c.A, c.Key):
		return errors.New("the witness does not name several possible writers of the value")
	}
	for t := range w.Txns {
		b := &w.Txns[t]
		left, wrote := finalWrite(b, c.Key)
		wrote = wrote && left.Value == o.Value
		switch listed := slices.Contains(c.Writers, t); {
		case t == c.A && listed:
			return fmt.Errorf("%s did not read from itself", a.ID)
		case listed && !wrote:
			return fmt.Errorf("%s did not leave what %s read", b.ID, a.ID)
		case listed && (b.Status == event.Aborted || a.Source != b.Source || a.Epoch != b.Epoch):
			return fmt.Errorf("%s is not one that %s can have read from", b.ID, a.ID)
		case !listed && wrote && t != c.A && b.Status != event.Aborted:
			return fmt.Errorf("%s left what %s read as well", b.ID, a.ID)
		}
	}
	return nil
}
