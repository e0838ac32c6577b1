package capture

import (
	"strconv"

	"github.com/isowatch/isowatch/event/record"
)

// Detail is what an operation may say besides its key and value.
type Detail struct {
	kind detailKind
	text string
	seen any
}

type detailKind uint8

const (
	detailVersion detailKind = iota + 1
	detailPrevVersion
	detailSeen
)

// Integer or text: what a version may be.
type integerOrText interface {
	~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64 | ~string
}

// Version is the database's version of what was read or written: PostgreSQL's xmin,
// a version column, an ETag. It tells values that repeat apart.
func Version[V integerOrText](v V) Detail { return Detail{kind: detailVersion, text: versionText(v)} }

// PrevVersion is the version of what the write replaced.
func PrevVersion[V integerOrText](v V) Detail {
	return Detail{kind: detailPrevVersion, text: versionText(v)}
}

// Seen is what a compare-and-set that failed found; nil: the key was not there.
func Seen(value any) Detail { return Detail{kind: detailSeen, seen: value} }

// versionText is canonical JSON: a number as a number, so that 7 and "7" differ.
func versionText(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case uint32:
		return strconv.FormatUint(uint64(v), 10)
	case string:
		return string(record.AppendQuoted(nil, validText(v)))
	}
	text, _ := appendValue(nil, v, true) // of the kinds that a version may be
	return string(text)
}

// apply sets what the details say in o.
func (t *Txn) apply(o *record.Op, details []Detail) {
	for _, d := range details {
		switch d.kind {
		case detailVersion:
			o.Version = d.text
		case detailPrevVersion:
			o.PrevVersion = d.text
		case detailSeen:
			if o.Kind == record.CAS {
				o.Seen = t.value(d.seen)
			}
		}
	}
}
