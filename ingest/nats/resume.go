package nats

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/isowatch/isowatch/ingest"
)

// incarnation is a stream as the server has it now. A stream without messages
// has first = last + 1, where last is the last sequence ever given.
type incarnation struct {
	created     time.Time
	first, last uint64
}

// place is where to read on.
type place struct {
	next     uint64
	identity string
	gaps     []ingest.Gap
}

// resume compares the cursor with the stream. It says where to read on, and what is lost. A
// cursor without identity is taken to mean this incarnation.
//
// An identity is the stream's creation time, followed by +N after the stream lost its end N
// times. Sequences above the loss are given out a second time, so an offset alone would no
// longer name one message.
func resume(c ingest.Cursor, s incarnation) place {
	created := s.created.UTC().Format(time.RFC3339Nano)
	first := max(s.first, 1)
	base, rewinds := splitIdentity(c.Identity)
	switch {
	case c.Identity == "" && c.Next <= 0:
		return place{next: first, identity: created}
	case c.Identity != "" && base != created:
		return place{next: first, identity: created, gaps: []ingest.Gap{{
			From: c.Next, To: c.Next,
			Reason: fmt.Sprintf("the stream was deleted and created again: made at %s, the one read before at %s", created, base),
		}}}
	}
	next := uint64(max(c.Next, 1))
	identity := c.Identity
	if identity == "" {
		identity = created
	}
	if next > s.last+1 {
		return place{next: s.last + 1, identity: rewound(created, rewinds), gaps: []ingest.Gap{{
			From: int64(s.last + 1), To: int64(s.last + 1),
			Reason: fmt.Sprintf("the stream went back: its last sequence is %d, %d had been read", s.last, next-1),
		}}}
	}
	if next < first {
		return place{next: first, identity: identity, gaps: []ingest.Gap{{
			From: int64(next), To: int64(first),
			Reason: "messages were removed from the stream's beginning before they were read",
		}}}
	}
	return place{next: next, identity: identity}
}

// rewritten is the place behind a loss of the stream's end that was found late. The sequences
// read before have been given to other messages meanwhile.
func rewritten(p place) place {
	created, rewinds := splitIdentity(p.identity)
	p.identity = rewound(created, rewinds)
	p.gaps = append(p.gaps, ingest.Gap{
		From: int64(p.next), To: int64(p.next),
		Reason: fmt.Sprintf("the stream went back and grew again: sequence %d is another message than the one that was read", p.next-1),
	})
	return p
}

func rewound(created string, rewinds int) string { return created + "+" + strconv.Itoa(rewinds+1) }

func splitIdentity(s string) (created string, rewinds int) {
	created, n, found := strings.Cut(s, "+")
	if found {
		rewinds, _ = strconv.Atoi(n)
	}
	return created, rewinds
}
