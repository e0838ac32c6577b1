package kafka

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/ingest"
	"github.com/zeebo/xxh3"
)

// identity names the last record delivered. kafka-go speaks metadata v8, which has no topic id
// (v10). So a recreated topic is told by its content: if the record at that offset has become
// another one, so has the log.
type identity struct {
	offset int64
	hash   uint64 // xxh3 of the value
}

// none is the identity of a partition from which nothing was delivered.
func none() identity { return identity{offset: -1} }

func (i identity) known() bool { return i.offset >= 0 }

func identify(m ingest.Message) identity { return identity{m.Offset, xxh3.Hash(m.Value)} }

const identityPrefix = "last="

// String is the text of Cursor.Identity: last=OFFSET/HASH.
func (i identity) String() string {
	if !i.known() {
		return ""
	}
	return fmt.Sprintf("%s%d/%016x", identityPrefix, i.offset, i.hash)
}

// parseIdentity reads what String wrote. Anything else is none: then the topic
// is not checked, as if nothing had been delivered.
func parseIdentity(s string) identity {
	rest, ok := strings.CutPrefix(s, identityPrefix)
	offset, hash, cut := strings.Cut(rest, "/")
	o, errOffset := strconv.ParseInt(offset, 10, 64)
	h, errHash := strconv.ParseUint(hash, 16, 64)
	if !ok || !cut || errOffset != nil || errHash != nil || o < 0 {
		return none()
	}
	return identity{o, h}
}
