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

// extend opens the files that the path has named since its newest one at hand, the
// path's own last. If one was renamed since it was listed, those before it are taken,
// and the next poll goes on from them.
func (l *lineage) extend() error {
	missed, lost, err := l.missed()
	if err != nil {
		return err
	}
	for _, s := range missed {
		g, err := l.opts.openListed(s, 0)
		if err != nil {
			return err
		}
		if l.knows(g) {
			g.close()
			continue
		}
		if lost != nil {
			g.gaps, lost = append(g.gaps, *lost), nil
		}
		l.gens = append(l.gens, g)
	}
	return nil
}

const missedReason = "the rotated file read last is gone: later files may be gone unread: keep more of them"

// missed lists the files that rotation made of the path since the newest file at hand, or since
// the path was first looked at. The path's own file follows. Rotation may no longer keep the
// newest file at hand. Then files that came next may have gone with it: lost tells of them.
func (l *lineage) missed() (missed []sibling, lost *ingest.Gap, err error) {
	newest, since := l.newest(), l.began
	if newest != nil {
		info, err := newest.file.Stat()
		if err != nil {
			return nil, nil, err
		}
		since = info.ModTime()
	}
	isNewest := func(s sibling) bool { return newest != nil && s.inode == newest.inode }
	matters := func(s sibling) bool {
		if newest == nil && l.resumed {
			return s.head
		}
		return s.head || isNewest(s) || !s.written.Before(since)
	}
	found, err := l.opts.siblings(target(l.path), matters)
	if err != nil {
		return nil, nil, err
	}
	if i := slices.IndexFunc(found, isNewest); i >= 0 {
		return append(tied(found[:i], found[i]), found[i+1:]...), nil, nil
	}
	found = slices.DeleteFunc(found, func(s sibling) bool { return !matters(s) })
	if newest == nil || !slices.ContainsFunc(found, func(s sibling) bool { return !s.head }) {
		return found, nil, nil
	}
	for i, s := range found { // it may have been compressed
		switch now, err := identify(s.path, newest.id.n); {
		case err == nil && now.inode != s.inode || errors.Is(err, fs.ErrNotExist):
			return nil, nil, errMoving
		case err == nil && newest.id.known() && now.sameContent(newest.id):
			return found[i+1:], nil, nil
		}
	}
	return found, &ingest.Gap{From: newest.split.Next, To: newest.split.Next, Reason: missedReason}, nil
}

// tied are the files that were written in the same step of the clock as the newest one at hand:
// they may be newer. Those that were read are known.
func tied(before []sibling, newest sibling) (files []sibling) {
	for _, s := range before {
		if s.written.Equal(newest.written) {
			files = append(files, s)
		}
	}
	return files
}

// knows reports that the file is being read or has been read to its end.
func (l *lineage) knows(g *generation) bool {
	read := slices.Clone(l.finished)
	for _, o := range l.gens {
		if o.inode == g.inode {
			return true
		}
		if o.id.known() { // it may have been compressed meanwhile
			read = append(read, o.id)
		}
	}
	return slices.ContainsFunc(read, g.beginsAs)
}

// beginsAs reports that the content begins as an identity's.
func (g *generation) beginsAs(id identity) bool {
	hash, err := g.hash(id.n)
	return err == nil && hash == id.hash
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
		return l.instead(id)
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

// instead opens the files that are there in the place of one that is not found. Rotation removes
// the oldest first, so that all of them are newer.
func (l *lineage) instead(id identity) error {
	gap := ingest.Gap{From: l.start.Next, To: l.start.Next, Reason: "the file read before is gone: the rest of it is lost"}
	if now, err := identify(l.path, id.n); err == nil && now == id {
		gap.Reason = truncatedReason
		if err := l.anew(id); err != nil {
			return err
		}
	} else if err := l.addRotated(func(s sibling) bool { return !l.heads[s.path] }); err != nil {
		return err
	}
	l.gens = slices.DeleteFunc(l.gens, func(g *generation) bool { // a copy, of less than was read
		copied := id.known() && gap.Reason != truncatedReason && g.beginsAs(id)
		if copied {
			g.close()
		}
		return copied
	})
	l.gaps, l.located = append(l.gaps, gap), true
	if len(l.gens) == 0 {
		if err := l.add(l.path, 0); err != nil {
			return err
		}
	}
	l.cursor = l.gens[0].cursor()
	return l.arrange()
}

// anew() opens the path's file, which was cut and begins as before.
func (l *lineage) anew(id identity) error {
	if err := l.add(l.path, 0); err != nil {
		return err
	}
	g := l.gens[0]
	g.id = id
	if _, err := g.wasCut(); err != nil {
		l.closeFiles()
		return err
	}
	return nil
}

// begin opens the files to read when there is no cursor, or only an offset.
func (l *lineage) begin(haveHead bool) error {
	if !haveHead && !l.older {
		return nil
	}
	if !l.resumed && l.older {
		if err := l.addOlder(); err != nil {
			return err
		}
	}
	if haveHead && l.start.Next > 0 {
		if err := l.add(l.path, l.start.Next); err != nil {
			return err
		}
	}
	if l.located = true; haveHead && l.start.Next == 0 {
		return l.extend()
	}
	return nil
}

// addOlder opens the files that the patterns name as older ones of the path.
func (l *lineage) addOlder() error {
	return l.addRotated(func(s sibling) bool {
		return !l.heads[s.path] && Matches(l.opts.Globs, s.path) && !Matches(l.opts.Except, s.path)
	})
}

// addRotated opens the files that rotation made of the path and that are wanted.
func (l *lineage) addRotated(wanted func(sibling) bool) error {
	rotated := func(s sibling) bool { return !s.head && wanted(s) }
	found, err := l.opts.siblings(target(l.path), rotated)
	if err != nil {
		return err
	}
	for _, s := range found {
		if !rotated(s) {
			continue
		}
		g, err := l.opts.openListed(s, 0)
		if err != nil {
			l.closeFiles()
			return err
		}
		l.gens = append(l.gens, g)
	}
	return nil
}

// search finds the file of an identity: under its path or a rotated name, or its content in a
// compressed file or a copy. It returns nil when no file reaches to next. The excluded one does
// not count.
func (l *lineage) search(id identity, next int64, excluded inode) (*generation, error) {
	found, err := l.opts.siblings(target(l.path), func(sibling) bool { return true })
	moving := errors.Is(err, errMoving)
	if err != nil && !moving && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, sameInode := range []bool{true, false} {
		for _, s := range found {
			if s.inode == excluded || sameInode != (s.inode == id.inode) || !sameInode && !id.known() {
				continue
			}
			g, err := l.reopen(s, id, next)
			if err == nil {
				g.copied = !sameInode && g.content == nil
				return g, nil
			}
			moving = moving || errors.Is(err, errMoving)
		}
		if moving {
			return nil, errMoving
		}
	}
	return nil, nil
}

var errOther = errors.New("another file")

// reopen opens a listed file at next if its content is the identity's, and reaches there.
func (l *lineage) reopen(s sibling, id identity, next int64) (*generation, error) {
	g, err := l.opts.openListed(s, 0)
	if err != nil {
		return nil, err
	}
	same := g.beginsAs(id)
	if g.close(); !same {
		return nil, errOther
	}
	if g, err = l.opts.openListed(s, next); err != nil {
		return nil, err
	}
	if info, err := g.file.Stat(); g.content == nil && (err != nil || info.Size() < next) {
		g.close()
		return nil, errOther
	}
	g.id = identity{inode: g.inode, n: id.n, hash: id.hash}
	return g, nil
}
