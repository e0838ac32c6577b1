package infertest

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// queryDeleted prints what is asked about lists that somebody may have deleted.
func (r *room) queryDeleted(name, rest string) error {
	switch name {
	case "lacks":
		for _, k := range r.keys(rest) {
			r.printLacks(k)
		}
		return nil
	case "outlived":
		return r.printOutlived(rest)
	}
	return fmt.Errorf("no such command")
}

// printLacks prints what reads of the list k lack whose appenders have retired.
func (r *room) printLacks(k uint32) {
	gone := func(n uint32) bool { return r.s.Txns[n].Flags&ledger.Retired != 0 }
	var lines []string
	for id := range r.s.Readers {
		if x := &r.s.Readers[id]; x.Version != 0 && r.s.Versions[x.Version].Key == k {
			lacked := r.s.LackedUnseen(x.Txn, x.Version, gone)
			lines = append(lines, fmt.Sprintf("%s lacks %s, none %v", r.name(x.Txn), r.version(lacked), r.s.LacksNone(x.Version, gone)))
		}
	}
	slices.Sort(lines)
	r.printed = append(r.printed, lines...)
}

// printOutlived prints whether the records show that an element was appended after a transaction had read the
// list. rest is the transaction's id, the key and the element.
func (r *room) printOutlived(rest string) error {
	var id, key, element string
	if _, err := fmt.Sscan(rest, &id, &key, &element); err != nil {
		return err
	}
	cleared := false
	outlived := r.s.Outlived(r.s.WithID(id, ""), key, "", element, &cleared)
	r.printf("%s %s came after the read of %s: %v; the list was cleared before it: %v", key, element, id, outlived, cleared)
	return nil
}
