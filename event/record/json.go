package record

import "strconv"

// AppendJSON appends r as one line of the documented format, without the line
// end. Decoding it gives the same transaction.
func AppendJSON(dst []byte, r *Record) []byte {
	dst = append(appendHead(dst, r), `,"ops":[`...)
	for i := range r.Ops {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendOp(dst, &r.Ops[i])
	}
	return append(dst, "]}"...)
}

// AppendJSONWith appends r with ops for r.Ops: operations as [AppendOp] wrote them,
// with commas between them.
func AppendJSONWith(dst []byte, r *Record, ops []byte) []byte {
	dst = append(appendHead(dst, r), `,"ops":[`...)
	dst = append(dst, ops...)
	return append(dst, "]}"...)
}

// appendHead appends all of r but its operations, without the brace at the end.
func appendHead(dst []byte, r *Record) []byte {
	dst = append(dst, `{"txn":`...)
	dst = AppendQuoted(dst, r.ID)
	if r.Source != DefaultSource {
		dst = appendName(dst, "source", r.Source)
	}
	dst = appendName(dst, "epoch", r.Epoch)
	dst = appendName(dst, "session", r.Session)
	dst = appendInt(dst, "seq", r.Seq, r.Flags&HasSeq != 0)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, r.Status.String()...)
	dst = append(dst, '"')
	dst = appendInt(dst, "start", r.Start, r.Flags&HasTimes != 0)
	dst = appendInt(dst, "end", r.End, r.Flags&HasTimes != 0)
	dst = appendInt(dst, "start_ts", r.StartTS, r.Flags&HasStartTS != 0)
	dst = appendInt(dst, "commit_ts", r.CommitTS, r.Flags&HasCommitTS != 0)
	dst = appendName(dst, "isolation", r.Isolation)
	dst = appendTrue(dst, "stale", r.Flags&Stale != 0)
	dst = appendName(dst, "name", r.Name)
	dst = appendName(dst, "trace_id", r.TraceID)
	return appendLabels(dst, r.Labels)
}

// AppendOp appends o as an element of "ops".
func AppendOp(dst []byte, o *Op) []byte {
	dst = append(dst, `{"op":"`...)
	dst = append(dst, o.Kind.String()...)
	dst = append(dst, '"')
	if o.Kind != Range || o.Key != "" {
		dst = appendField(dst, "key")
		dst = AppendQuoted(dst, o.Key)
	}
	if o.Data != AnyKind {
		dst = appendName(dst, "kind", o.Data.String())
	}
	dst = appendRaw(dst, "expected", o.Expected)
	dst = appendRaw(dst, "value", o.Value)
	switch {
	case o.Kind == Read && o.Flags&NotFound != 0:
		dst = append(dst, `,"found":false`...)
	case o.Kind == Read && o.Value == "null":
		dst = append(dst, `,"found":true`...)
	case o.Kind == CAS && o.Flags&Success != 0:
		dst = append(dst, `,"success":true`...)
	case o.Kind == CAS:
		dst = append(dst, `,"success":false`...)
	}
	dst = appendRaw(dst, "seen", o.Seen)
	dst = appendRaw(dst, "version", o.Version)
	dst = appendRaw(dst, "prev_version", o.PrevVersion)
	if o.Kind == Range {
		dst = appendRangeJSON(dst, o)
	}
	return append(dst, '}')
}

func appendRangeJSON(dst []byte, o *Op) []byte {
	if o.HasFrom {
		dst = appendField(dst, "from")
		dst = AppendQuoted(dst, o.From)
	}
	if o.HasTo {
		dst = appendField(dst, "to")
		dst = AppendQuoted(dst, o.To)
	}
	dst = appendTrue(dst, "desc", o.Desc)
	dst = appendInt(dst, "limit", o.Limit, o.Limit != 0)
	dst = append(dst, `,"result":[`...)
	for i, row := range o.Rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"key":`...)
		dst = AppendQuoted(dst, row.Key)
		dst = appendRaw(dst, "value", row.Value)
		dst = appendRaw(dst, "version", row.Version)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendField(dst []byte, name string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// appendName appends a field whose empty text says the same as no field.
func appendName(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return AppendQuoted(appendField(dst, name), text)
}

// appendRaw appends a field whose text is canonical JSON, unless it is absent.
func appendRaw(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return append(appendField(dst, name), text...)
}

func appendInt(dst []byte, name string, n int64, present bool) []byte {
	if !present {
		return dst
	}
	return strconv.AppendInt(appendField(dst, name), n, 10)
}

func appendTrue(dst []byte, name string, value bool) []byte {
	if !value {
		return dst
	}
	return append(appendField(dst, name), "true"...)
}
