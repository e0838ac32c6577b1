package workload

import (
	"encoding/json"
	"strconv"

	"github.com/isowatch/isowatch/event"
)

// AppendJSON appends t to dst as one JSON object in the documented event
// format, without a newline. A register read that found nothing is written as
// "found": false, an empty list as [].
func AppendJSON(dst []byte, t *Txn) []byte {
	dst = append(dst, `{"txn":`...)
	dst = appendText(dst, t.ID)
	dst = appendField(dst, `,"source":`, t.Source)
	dst = appendField(dst, `,"name":`, t.Name)
	dst = appendField(dst, `,"trace_id":`, t.TraceID)
	dst = appendField(dst, `,"session":`, t.Session)
	if t.Seq != 0 {
		dst = append(dst, `,"seq":`...)
		dst = strconv.AppendInt(dst, t.Seq, 10)
	}
	dst = append(dst, `,"status":"`...)
	dst = append(dst, statusText(t.Status)...)
	dst = append(dst, '"')
	if t.End != 0 {
		dst = append(dst, `,"start":`...)
		dst = strconv.AppendInt(dst, t.Start, 10)
		dst = append(dst, `,"end":`...)
		dst = strconv.AppendInt(dst, t.End, 10)
	}
	dst = append(dst, `,"ops":[`...)
	for i := range t.Ops {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendOp(dst, &t.Ops[i])
	}
	return append(dst, "]}"...)
}

func appendOp(dst []byte, o *Op) []byte {
	if dst, ok := appendOther(dst, o); ok {
		return dst
	}
	switch o.Kind {
	case event.Write:
		dst = append(dst, `{"op":"w","key":`...)
	case event.Append:
		dst = append(dst, `{"op":"append","key":`...)
	default:
		dst = append(dst, `{"op":"r","key":`...)
	}
	dst = appendText(dst, o.Key)
	switch {
	case o.IsList:
		dst = append(dst, `,"value":[`...)
		for i, e := range o.List {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, e, 10)
		}
		return append(dst, "]}"...)
	case o.Absent:
		return append(appendVersion(append(dst, `,"found":false`...), o), '}')
	}
	dst = append(dst, `,"value":`...)
	dst = strconv.AppendInt(dst, o.Value, 10)
	return append(appendVersion(dst, o), '}')
}

// appendField appends an optional text field; an empty text is left out.
func appendField(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	dst = append(dst, name...)
	return appendText(dst, text)
}

// appendText appends s as a JSON string. Generated names are plain ASCII and
// take the copying path; anything else is left to encoding/json.
func appendText(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a string always encodes
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

func statusText(s event.Status) string {
	switch s {
	case event.Aborted:
		return "aborted"
	case event.Unknown:
		return "unknown"
	default:
		return "committed"
	}
}
