package tail

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/isowatch/isowatch/ingest"
)

// arrange sees to it that the generations end with the file that the path
// names now.
func (l *lineage) arrange() error {
	if !l.located {
		return l.locate()
	}
	if l.retired {
		return nil
	}
	head, ok := look(l.path)
	if !ok {
		return nil
	}
	if n := len(l.gens); n > 0 && l.gens[n-1].inode == head.inode {
		return nil
	}
	if l.left != nil && l.left.inode == head.inode && len(l.gens) == 0 {
		return nil
	}
	return l.extend()
}

// newest is the last of the files at hand; nil: there is none.
func (l *lineage) newest() *generation {
	if n := len(l.gens); n > 0 {
		return l.gens[n-1]
	}
	if l.left != nil {
		return l.left.generation
	}
	return nil
}

// extend opens the path's file, and puts before it the files that the path named
// since its newest one at hand. The path may go on to other files meanwhile:
// what is opened stays the measure.
func (l *lineage) extend() error {
	head, err := open(l.path, l.opts, 0)
	if err != nil {
		return err
	}
	missed, err := l.missed(head.inode)
	if err != nil {
		head.close()
		return err
	}
	for _, s := range missed {
		if s.inode == head.inode {
			l.gens = append(l.gens, head)
			head = nil
			break // what is newer will be found from there
		}
		if l.knows(s) {
			continue
		}
		if err := l.add(s.path, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			head.close()
			return err
		}
	}
	if head != nil {
		l.gens = append(l.gens, head)
	}
	return nil
}

// missed lists what rotation made of the path since the newest file at hand, or
// since the path was looked at first. The file opened last must be in the list
// or still at the path: if not, it was renamed during the listing.
func (l *lineage) missed(opened inode) ([]sibling, error) {
	newest, since := l.newest(), l.began
	if newest == nil && l.resumed {
		return nil, nil
	}
	var found []sibling
	for range 5 {
		var err error
		if found, err = siblings(l.path); err != nil {
			return nil, err
		}
		head, _ := look(l.path)
		if head.inode == opened || slices.ContainsFunc(found, func(s sibling) bool { return s.inode == opened }) {
			break
		}
	}
	if newest != nil {
		if i := slices.IndexFunc(found, func(s sibling) bool { return s.inode == newest.inode }); i >= 0 {
			return found[i+1:], nil
		}
		info, err := newest.file.Stat()
		if err != nil {
			return nil, err
		}
		since = info.ModTime()
	}
	return slices.DeleteFunc(found, func(s sibling) bool { return s.written.Before(since) }), nil
}

// knows reports that the file is being read or has been read to its end.
func (l *lineage) knows(s sibling) bool {
	read := slices.Clone(l.finished)
	for _, g := range l.gens {
		if g.inode == s.inode {
			return true
		}
		if g.id.known() { // it may have been compressed meanwhile
			read = append(read, g.id)
		}
	}
	return slices.ContainsFunc(read, func(id identity) bool {
		now, err := identify(s.path, id.n)
		return err == nil && now.sameContent(id)
	})
}

func (l *lineage) add(path string, next int64) error {
	g, err := open(path, l.opts, next)
	if err != nil {
		return err
	}
	l.gens = append(l.gens, g)
	return nil
}

// locate finds the file that the cursor names, and what has come after it.
func (l *lineage) locate() error {
	head, haveHead := look(l.path)
	if l.start.Identity == "" {
		return l.begin(haveHead)
	}
	id, err := parseIdentity(l.start.Identity)
	if err != nil {
		return err
	}
	g, err := l.search(id, l.start.Next, inode{})
	if err != nil {
		return err
	}
	switch {
	case g == nil && l.retired:
		l.located = true
		return nil
	case g == nil && !haveHead:
		return nil // wait for either
	case g == nil:
		if g, err = l.instead(id); err != nil {
			return err
		}
	}
	l.gens, l.cursor, l.located = []*generation{g}, g.cursor(), true
	if g.copied {
		l.gaps = append(l.gaps, ingest.Gap{From: l.start.Next, To: l.start.Next, Reason: truncatedReason})
	}
	if haveHead && g.inode != head.inode && !l.retired {
		return l.extend()
	}
	return nil
}

// instead opens the path's file in the place of one that is not found.
func (l *lineage) instead(id identity) (*generation, error) {
	gap := ingest.Gap{From: l.start.Next, To: l.start.Next, Reason: "the file read before is gone: what it held behind is lost"}
	g, err := open(l.path, l.opts, 0)
	if err != nil {
		return nil, err
	}
	if now, err := identify(l.path, id.n); err == nil && now == id {
		g.id, gap.Reason = id, truncatedReason
		if _, err := g.wasCut(); err != nil {
			g.close()
			return nil, err
		}
	}
	l.gaps = append(l.gaps, gap)
	return g, nil
}

// begin opens the files to read when there is no cursor, or only an offset.
func (l *lineage) begin(haveHead bool) error {
	if !haveHead && len(l.older) == 0 {
		return nil
	}
	l.located = true
	if !l.resumed {
		for _, path := range byAge(l.older) {
			if err := l.add(path, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	switch {
	case !haveHead:
		return nil
	case l.start.Next > 0:
		return l.add(l.path, l.start.Next)
	}
	return l.extend()
}

// search finds the file of an identity: under its path or a rotated name, or
// its content in a compressed file or a copy. It returns nil when there is none,
// but for the one excluded, that reaches to next.
func (l *lineage) search(id identity, next int64, excluded inode) (*generation, error) {
	found, err := siblings(l.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if head, ok := look(l.path); ok {
		found = append(found, head)
	}
	for _, sameInode := range []bool{true, false} {
		for _, s := range found {
			now, err := identify(s.path, id.n)
			if err != nil || s.inode == excluded || !now.sameContent(id) || !sameInode && !id.known() || sameInode != (now.inode == id.inode) {
				continue
			}
			g, err := open(s.path, l.opts, next)
			if err != nil {
				continue
			}
			if info, err := g.file.Stat(); g.content == nil && (err != nil || info.Size() < next) {
				g.close()
				continue
			}
			g.id = identity{inode: g.inode, n: id.n, hash: id.hash}
			g.copied = !sameInode && g.content == nil
			return g, nil
		}
	}
	return nil, nil
}
