package nats

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/ingest"
)

const (
	// mostRemoved bounds the list of removed sequences that is asked for: 1 MB of JSON or so.
	mostRemoved = 100_000
	// A look for the per-subject limit takes a twentieth of the time at most. One that found
	// something is followed by no other for trimCheck.
	lookShare = 20
	// blocked is how long a chunk waits to be taken before its reader has seen nothing of the stream.
	blocked = 100 * time.Millisecond
)

// removed holds the sequences that the stream has lost, as a filtered reader knows them. A missing
// sequence may have had another subject. So the reader also watches the server's own count of
// what it will send. The count falls when a message of these subjects goes before it was sent.
type removed struct {
	identity string // of the stream that this is about

	limit  uint64 // of messages for each subject, 0: none
	always bool   // the stream removes messages by itself, not only from its beginning

	total  uint64 // what the consumer sends in all, as of its latest message
	looked uint64 // total at the latest look
	blind  bool   // the latest chunk waited long to be taken
	unseen uint64 // up to this message of the consumer, nothing was seen of the stream for a while

	first, missing uint64   // the stream's first sequence and the number of missing ones at the latest look
	known          []uint64 // removed sequences that were judged already
	holes          []uint64 // removed sequences that may have been of these subjects, not yet passed
	most           uint64   // holes reach to here, exclusive, if the list was too long or refused
	why            string   // instead of the list
	vague          bool     // that was told once
	count          uint64   // so many of these subjects were removed for certain

	last time.Time     // the latest look
	wait time.Duration // until the next one for the limit
}

// begin takes the stream's settings, and what is removed behind the cursor when reading begins.
// A first start has lost nothing.
func (r *reader) begin(ctx context.Context, info *jetstream.StreamInfo) error {
	if !r.filtered {
		return nil
	}
	g := &r.gone
	if g.identity != r.at.identity {
		*g = removed{identity: r.at.identity}
	}
	c := &info.Config
	g.limit = 0
	if c.MaxMsgsPerSubject > 0 && !(c.Discard == jetstream.DiscardNew && c.DiscardNewPerSubject) {
		g.limit = uint64(c.MaxMsgsPerSubject)
	}
	onlyLimit := c.DenyDelete && c.DenyPurge && !c.AllowRollup && !c.AllowMsgTTL
	g.always = g.limit > 0 || c.AllowRollup || c.AllowMsgTTL
	g.total, g.blind, g.unseen = r.pending, false, 0
	before, most := slices.Clone(g.holes), g.most
	if err := r.look(ctx, r.pending, false); err != nil {
		return err
	}
	if r.fresh || onlyLimit && r.pending < g.limit {
		g.holes, g.most = before, most
	}
	r.fresh = false
	return nil
}

// watch looks at the stream if messages that were not read may be missing before d. At the end
// of the stream, d has only numbers.
func (r *reader) watch(ctx context.Context, d delivery, end bool) error {
	if !r.filtered {
		return nil
	}
	g := &r.gone
	total := d.consumer + d.pending
	fell := g.total - min(g.total, total)
	g.total = total
	if g.blind {
		g.blind, g.unseen = false, d.consumer+uint64(len(r.messages))+1 // what is here was sent meanwhile
	}
	jump := d.stream > r.at.next
	switch {
	case fell > 0:
		if err := r.look(ctx, total, true); err != nil {
			return err
		}
		r.floorIn = 0 // what is in the channel was sent after the removal
		if g.most > r.at.next || len(g.holes) > 0 {
			g.count += fell
		}
	case g.limit > 0 && jump && !end && d.pending+1 >= g.limit && time.Since(g.last) >= g.wait:
		// The limit removes a message when as many that follow are stored, and the reader has not come to these.
		return r.look(ctx, total, false)
	case d.consumer <= g.unseen && total > g.looked:
		// As many may have come as were removed.
		return r.lookAfterPause(ctx, total)
	case !g.always && jump && d.pending > 0 && total > g.looked && time.Since(g.last) >= trimCheck:
		return r.look(ctx, total, false)
	}
	return nil
}

// lookAfterPause also finds that the stream's beginning has passed the reader. It asks for no
// others where the stream removes messages by itself.
func (r *reader) lookAfterPause(ctx context.Context, total uint64) error {
	if !r.gone.always {
		err := r.look(ctx, total, false)
		r.floorIn = 0
		return err
	}
	r.gone.looked = total
	info, err := r.info(ctx)
	if err != nil {
		return err
	}
	r.raiseFloor(info.State.FirstSeq, 0)
	return nil
}

// look asks for the removed sequences behind the cursor. Where there is no list of them, this counts
// once, or where some were of these subjects for certain.
func (r *reader) look(ctx context.Context, total uint64, certain bool) error {
	g := &r.gone
	began := time.Now()
	info, err := r.info(ctx)
	if err != nil {
		return err
	}
	r.raiseFloor(info.State.FirstSeq, len(r.messages))
	var list []uint64
	r.trimCheck = time.Now()
	why, n, first := "", uint64(max(info.State.NumDeleted, 0)), info.State.FirstSeq
	same := n == g.missing && first == g.first // more would be missing
	g.missing, g.first = n, first
	if same {
		list = g.known
	} else if n > mostRemoved {
		why = fmt.Sprintf("the stream misses %d messages, too many to list", n)
	} else if n > 0 {
		list, err = r.deleted(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			g.missing = 0
			why = fmt.Sprintf("the server does not list them: %v", err)
		}
	}
	if end := info.State.LastSeq + 1; why != "" && end > r.at.next && (certain || !g.vague) {
		if !g.vague {
			r.opts.Logger.Warn("cannot tell which messages the stream has removed", "stream", r.opts.Stream, "err", why)
		}
		g.most, g.why, g.vague = end, why, true
	}
	at, _ := slices.BinarySearch(list, r.at.next)
	list = list[at:]
	found := why == "" && g.add(list)
	g.last, g.looked = time.Now(), total
	g.wait = lookShare * g.last.Sub(began)
	if found || g.most > 0 {
		g.wait = max(g.wait, trimCheck)
	}
	return nil
}

// add takes the removed sequences that are new. The list is in order.
func (g *removed) add(list []uint64) bool {
	before, k := len(g.holes), 0
	for _, seq := range list {
		for k < len(g.known) && g.known[k] < seq {
			k++
		}
		if k == len(g.known) || g.known[k] != seq {
			g.holes = append(g.holes, seq)
		}
	}
	g.known = list
	if len(g.holes) == before {
		return false
	}
	slices.Sort(g.holes)
	return true
}

// deleted is the list of the sequences within the stream that are removed, in order.
func (r *run) deleted(ctx context.Context) ([]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	stream, err := r.js.Stream(ctx, r.opts.Stream)
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return nil, err
	}
	list := info.State.Deleted
	slices.Sort(list)
	return list, nil
}

// passed is the gap that a jump from next to seq makes known. One gap tells all removed
// sequences that are known, so that others between them do not make one each.
func (g *removed) passed(next, seq uint64) (ingest.Gap, bool) {
	at, _ := slices.BinarySearch(g.holes, next)
	g.holes = g.holes[at:]
	from, to := uint64(0), uint64(0)
	switch {
	case g.most > next:
		from, to = next, g.most
	case len(g.holes) > 0 && g.holes[0] < seq:
		from, to = g.holes[0], g.holes[len(g.holes)-1]+1
	default:
		return ingest.Gap{}, false
	}
	reason := "messages within the stream were removed before they were read, and may have been of these subjects"
	if g.count > 0 {
		reason = fmt.Sprintf("messages within the stream were removed before they were read, at least %d of these subjects", g.count)
	}
	if g.most > 0 {
		reason += "; " + g.why
	}
	g.holes, g.most, g.why, g.count = nil, 0, "", 0
	return ingest.Gap{From: int64(from), To: int64(to), Reason: reason}, true
}
