package tail

import (
	"github.com/isowatch/isowatch/ingest"
)

const truncatedReason = "the file was truncated: all that was written to it after the last read is lost"

// truncated deals with a file that has lost what was read from it.
//
// If it was the path's own, its new content is read from the beginning. Where there is a copy
// of the old content ("copytruncate"), the rest of it is read first. A file that was only cut
// shorter is read on from its end. One that had been rotated away is left.
func (l *lineage) truncated(g *generation) error {
	gap := ingest.Gap{From: g.split.Next, To: g.split.Next, Reason: truncatedReason}
	if later := l.gens[1:]; len(later) > 0 {
		l.gaps = append(l.gaps, gap)
		g.close()
		l.gens = later
		return nil
	}
	cut, err := g.wasCut()
	if err != nil {
		return err
	}
	if cut {
		g.gaps = append(g.gaps, gap)
		return nil
	}
	fresh, err := open(l.path, l.opts, 0)
	if err != nil {
		return err
	}
	fresh.gaps = append(fresh.gaps, gap)
	rest := []*generation{fresh}
	if g.id.known() {
		copied, err := l.search(g.id, g.split.Next, g.inode)
		if err != nil {
			fresh.close()
			return err
		}
		if copied != nil {
			rest = []*generation{copied, fresh}
		}
	}
	g.close()
	l.gens = rest
	return nil
}

// wasCut reports that the file still begins as before, and then places g at its end. Offsets
// will repeat, so the identity must change: a fingerprint that is a byte shorter gives another
// one, as good. Lines appended between the cut and now cannot be told from lines read before:
// the gap stands for them as well.
func (g *generation) wasCut() (bool, error) {
	if !g.id.known() || g.id.n == 1 {
		return false, nil
	}
	if err := g.verify(); err == errTruncated {
		return false, nil
	} else if err != nil {
		return false, err
	}
	info, err := g.file.Stat()
	if err != nil {
		return false, err
	}
	hash, err := g.hash(g.id.n - 1)
	if err != nil {
		return false, err
	}
	g.id.n, g.id.hash = g.id.n-1, hash
	g.at = info.Size()
	g.split.Reset(g.at)
	return true, nil
}
