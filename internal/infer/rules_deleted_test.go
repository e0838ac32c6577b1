package infer

import (
	"fmt"
	"slices"
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
	gone := func(n uint32) bool { return r.s.txns[n].flags&retired != 0 }
	var lines []string
	for id := range r.s.readers {
		if x := &r.s.readers[id]; x.version != 0 && r.s.versions[x.version].key == k {
			lacked := r.s.LackedUnseen(x.txn, x.version, gone)
			lines = append(lines, fmt.Sprintf("%s lacks %s, none %v", r.name(x.txn), r.version(lacked), r.s.LacksNone(x.version, gone)))
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
