package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/event"
)

// Other is the payload of operations of other kinds than reads, writes and appends.
type Other struct {
	Data event.DataKind // of a read, when it is stated: Set (List holds the elements) or Counter

	Expected, Seen Maybe // cas
	Success        bool

	From, To string // range; "" is open
	Limit    int64
	Desc     bool
	Rows     []Row

	Version, PrevVersion int64 // 0: none
}

// Maybe is a value, nothing (the key was not there), or not known.
type Maybe struct {
	Value          int64
	Known, Nothing bool
}

// Value is the Maybe that holds v.
func Value(v int64) Maybe { return Maybe{Value: v, Known: true} }

// Nothing is the Maybe of a key that is not there.
func Nothing() Maybe { return Maybe{Known: true, Nothing: true} }

func (m Maybe) text() string {
	if m.Nothing {
		return "nil"
	}
	return strconv.FormatInt(m.Value, 10)
}

func (m Maybe) json() string {
	if m.Nothing {
		return "null"
	}
	return strconv.FormatInt(m.Value, 10)
}

// Row is one row of a range's result.
type Row struct {
	Key     string
	Value   int64
	Version int64 // 0: none
}

// The text forms of these operations:
//
//	add s 1, remove s 1, read s {1,2}
//	inc c 5, count c 7, count c nil
//	cas x 1 2, cas x nil 2, cas x 1 2 failed, cas x 1 2 saw 3
//	insert x 1, delete x
//	range a..c [a=1,b=2], range a.. [a=1@3] limit=1, range .. [] desc
//
// "@3" and "@2-3" behind an operation are its version, and the one before it. A row has "@3" behind
// its value.

// otherText is the text form of o, "" if it is not of these kinds.
func (o *Op) otherText() string {
	value := strconv.FormatInt(o.Value, 10)
	switch o.Kind {
	case event.Add, event.Remove, event.Inc, event.Insert:
		return o.Kind.String() + " " + o.Key + " " + value
	case event.Delete:
		return "delete " + o.Key
	case event.CAS:
		text := "cas " + o.Key + " " + o.Expected.text() + " " + value
		switch {
		case o.Success:
		case o.Seen.Known:
			text += " saw " + o.Seen.text()
		default:
			text += " failed"
		}
		return text
	case event.Range:
		rows := make([]string, len(o.Rows))
		for i, r := range o.Rows {
			if rows[i] = fmt.Sprintf("%s=%d", r.Key, r.Value); r.Version != 0 {
				rows[i] += fmt.Sprintf("@%d", r.Version)
			}
		}
		text := fmt.Sprintf("range %s..%s [%s]", o.From, o.To, strings.Join(rows, ","))
		if o.Limit > 0 {
			text += fmt.Sprintf(" limit=%d", o.Limit)
		}
		if o.Desc {
			text += " desc"
		}
		return text
	case event.Read:
		switch o.Data {
		case event.Counter:
			if o.Absent {
				value = "nil"
			}
			return "count " + o.Key + " " + value
		case event.Set:
			elems := make([]string, len(o.List))
			for i, e := range o.List {
				elems[i] = strconv.FormatInt(e, 10)
			}
			return "read " + o.Key + " {" + strings.Join(elems, ",") + "}"
		}
	}
	return ""
}

func (o *Op) versionText() string {
	switch {
	case o.Version == 0:
		return ""
	case o.PrevVersion == 0:
		return fmt.Sprintf(" @%d", o.Version)
	}
	return fmt.Sprintf(" @%d-%d", o.PrevVersion, o.Version)
}

// parseOther reads an operation of these kinds; ok is false when it is none.
func parseOther(words []string) (o Op, ok bool, err error) {
	n := len(words)
	number := func(s string) (v int64) {
		if v, e := strconv.ParseInt(s, 10, 64); e == nil {
			return v
		}
		err = fmt.Errorf("%q is not an integer", s)
		return 0
	}
	maybe := func(s string) Maybe {
		if s == "nil" {
			return Nothing()
		}
		return Value(number(s))
	}
	kinds := map[string]event.OpKind{"add": event.Add, "remove": event.Remove, "inc": event.Inc, "insert": event.Insert}
	switch {
	case n == 3 && kinds[words[0]] != 0:
		o = Op{Kind: kinds[words[0]], Key: words[1], Value: number(words[2])}
	case n == 2 && words[0] == "delete":
		o = Op{Kind: event.Delete, Key: words[1]}
	case n == 3 && words[0] == "count" && words[2] == "nil":
		o = Op{Kind: event.Read, Key: words[1], Absent: true, Other: Other{Data: event.Counter}}
	case n == 3 && words[0] == "count":
		o = Op{Kind: event.Read, Key: words[1], Value: number(words[2]), Other: Other{Data: event.Counter}}
	case n == 3 && words[0] == "read" && strings.HasPrefix(words[2], "{"):
		o = Op{Kind: event.Read, Key: words[1], Other: Other{Data: event.Set}}
		o.List, err = parseList("[" + strings.Trim(words[2], "{}") + "]")
	case n >= 4 && words[0] == "cas":
		o = Op{Kind: event.CAS, Key: words[1], Value: number(words[3]), Other: Other{Expected: maybe(words[2]), Success: n == 4}}
		if n == 6 && words[4] == "saw" {
			o.Seen = maybe(words[5])
		}
	case n >= 3 && words[0] == "range":
		o, err = parseRange(words)
	default:
		return o, false, nil
	}
	return o, true, err
}

func parseRange(words []string) (Op, error) {
	o := Op{Kind: event.Range}
	var ok bool
	if o.From, o.To, ok = strings.Cut(words[1], ".."); !ok {
		return o, fmt.Errorf("%q is not of the form FROM..TO", words[1])
	}
	for _, r := range strings.Split(strings.Trim(words[2], "[]"), ",") {
		if r == "" {
			continue
		}
		key, value, _ := strings.Cut(r, "=")
		value, version, told := strings.Cut(value, "@")
		row := Row{Key: key}
		var err, err2 error
		row.Value, err = strconv.ParseInt(value, 10, 64)
		if told {
			row.Version, err2 = strconv.ParseInt(version, 10, 64)
		}
		if err != nil || err2 != nil {
			return o, fmt.Errorf("row %q is not of the form KEY=INTEGER or KEY=INTEGER@VERSION", r)
		}
		o.Rows = append(o.Rows, row)
	}
	for _, w := range words[3:] {
		limit, found := strings.CutPrefix(w, "limit=")
		v, err := strconv.ParseInt(limit, 10, 64)
		switch {
		case w == "desc":
			o.Desc = true
		case found && err == nil:
			o.Limit = v
		default:
			return o, fmt.Errorf("%q is neither desc nor limit=N", w)
		}
	}
	return o, nil
}

// cutVersion takes "@3" or "@2-3" from the end of words.
func (o *Other) cutVersion(words []string) ([]string, error) {
	last, ok := strings.CutPrefix(words[len(words)-1], "@")
	if !ok {
		return words, nil
	}
	prev, version, both := strings.Cut(last, "-")
	if !both {
		prev, version = "0", last
	}
	var err, err2 error
	o.PrevVersion, err = strconv.ParseInt(prev, 10, 64)
	o.Version, err2 = strconv.ParseInt(version, 10, 64)
	if err != nil || err2 != nil {
		return nil, fmt.Errorf("%q is not of the form @VERSION or @PREVIOUS-VERSION", words[len(words)-1])
	}
	return words[:len(words)-1], nil
}

// appendOther appends o as JSON, if it is of these kinds.
func appendOther(dst []byte, o *Op) ([]byte, bool) {
	switch o.Kind {
	case event.Add, event.Remove, event.Inc, event.Insert:
		dst = fmt.Appendf(dst, `{"op":%q,"key":%q,"value":%d`, o.Kind.String(), o.Key, o.Value)
	case event.Delete:
		dst = fmt.Appendf(dst, `{"op":"delete","key":%q`, o.Key)
	case event.CAS:
		dst = fmt.Appendf(dst, `{"op":"cas","key":%q,"expected":%s,"value":%d,"success":%v`, o.Key, o.Expected.json(), o.Value, o.Success)
		if o.Seen.Known {
			dst = fmt.Appendf(dst, `,"seen":%s`, o.Seen.json())
		}
	case event.Range:
		dst = appendRange(dst, o)
	case event.Read:
		switch o.Data {
		case event.Counter:
			if o.Absent {
				dst = fmt.Appendf(dst, `{"op":"r","kind":"counter","key":%q,"found":false`, o.Key)
				break
			}
			dst = fmt.Appendf(dst, `{"op":"r","kind":"counter","key":%q,"value":%d`, o.Key, o.Value)
		case event.Set:
			dst = fmt.Appendf(dst, `{"op":"r","kind":"set","key":%q,"value":[`, o.Key)
			for i, e := range o.List {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = strconv.AppendInt(dst, e, 10)
			}
			dst = append(dst, ']')
		default:
			return dst, false
		}
	default:
		return dst, false
	}
	return append(appendVersion(dst, o), '}'), true
}

func appendRange(dst []byte, o *Op) []byte {
	dst = append(dst, `{"op":"range"`...)
	if o.From != "" {
		dst = fmt.Appendf(dst, `,"from":%q`, o.From)
	}
	if o.To != "" {
		dst = fmt.Appendf(dst, `,"to":%q`, o.To)
	}
	if o.Limit > 0 {
		dst = fmt.Appendf(dst, `,"limit":%d`, o.Limit)
	}
	if o.Desc {
		dst = append(dst, `,"desc":true`...)
	}
	dst = append(dst, `,"result":[`...)
	for i, r := range o.Rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = fmt.Appendf(dst, `{"key":%q,"value":%d`, r.Key, r.Value)
		if r.Version != 0 {
			dst = fmt.Appendf(dst, `,"version":%d`, r.Version)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendVersion(dst []byte, o *Op) []byte {
	if o.Version != 0 {
		dst = fmt.Appendf(dst, `,"version":%d`, o.Version)
	}
	if o.PrevVersion != 0 {
		dst = fmt.Appendf(dst, `,"prev_version":%d`, o.PrevVersion)
	}
	return dst
}

// PlainRows are the rows without versions.
func (o *Other) PlainRows() []Row {
	rows := slices.Clone(o.Rows)
	for i := range rows {
		rows[i].Version = 0
	}
	return rows
}

func (o *Other) clone() Other {
	c := *o
	c.Rows = slices.Clone(o.Rows)
	return c
}
