package capture

import (
	"strconv"

	"github.com/isowatch/isowatch/event/record"
)

// Detail is a further field of an operation, besides its key and value.
type Detail struct {
	kind   detailKind
	number int64  // a version, where text is ""
	text   string // a version: a number's digits, or canonical JSON
	seen   any
}

type detailKind uint8

const (
	detailVersion detailKind = iota + 1
	detailPrevVersion
	detailSeen
)

// integerOrText is the type of a version.
type integerOrText interface {
	int | int32 | int64 | uint | uint32 | uint64 | string
}

// Version is the database's version of what was read or written: PostgreSQL's xmin,
// a version column, an ETag. It tells values that repeat apart. A number and a text
// differ.
func Version[V integerOrText](v V) Detail { return version(detailVersion, v) }

// PrevVersion is the version of what the write replaced.
func PrevVersion[V integerOrText](v V) Detail { return version(detailPrevVersion, v) }

// Seen is the value that a failed compare-and-set found; nil: the key was not there.
func Seen(value any) Detail { return Detail{kind: detailSeen, seen: value} }

func version(kind detailKind, v any) Detail {
	switch v := v.(type) {
	case int:
		return Detail{kind: kind, number: int64(v)}
	case int32:
		return Detail{kind: kind, number: int64(v)}
	case int64:
		return Detail{kind: kind, number: v}
	case uint32:
		return Detail{kind: kind, number: int64(v)}
	case uint:
		return Detail{kind: kind, text: strconv.FormatUint(uint64(v), 10)}
	case uint64:
		return Detail{kind: kind, text: strconv.FormatUint(v, 10)}
	}
	text, _ := v.(string)
	return Detail{kind: kind, text: string(record.AppendQuoted(nil, validText(text)))}
}

// apply sets what the details say in o.
func (t *Txn) apply(o *record.Op, details []Detail) {
	for _, d := range details {
		switch d.kind {
		case detailVersion:
			o.Version = t.version(&d)
		case detailPrevVersion:
			o.PrevVersion = t.version(&d)
		case detailSeen:
			if o.Kind == record.CAS {
				o.Seen = t.value(d.seen)
			}
		}
	}
}

func (t *Txn) version(d *Detail) string {
	if d.text != "" {
		return d.text
	}
	return t.decimal(d.number)
}
