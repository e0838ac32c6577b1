package event

import (
	"encoding/binary"

	"github.com/isowatch/isowatch/event/record"
)

// AppendProto appends r as a Records message of isowatch.proto with one record.
// Decoding it gives the same transaction.
func AppendProto(dst []byte, r *Record) []byte {
	return appendMessage(dst, 2, func(dst []byte) []byte { return appendProtoRecord(dst, r) })
}

// appendMessage appends a length-delimited field. The length is known only
// behind the contents, which are moved by its bytes beyond the first.
func appendMessage(dst []byte, num int, fill func([]byte) []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(num)<<3|wireBytes)
	at := len(dst)
	dst = fill(append(dst, 0))
	n := len(dst) - at - 1
	if n < 0x80 {
		dst[at] = byte(n)
		return dst
	}
	var size [binary.MaxVarintLen64]byte
	k := binary.PutUvarint(size[:], uint64(n))
	dst = append(dst, size[:k-1]...)
	copy(dst[at+k:], dst[at+1:at+1+n])
	copy(dst[at:], size[:k])
	return dst
}

func appendProtoText(dst []byte, num int, s string, present bool) []byte {
	if !present {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(num)<<3|wireBytes)
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendProtoInt(dst []byte, num int, n uint64, present bool) []byte {
	if !present {
		return dst
	}
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(num)<<3|wireVarint), n)
}

func appendProtoTime(dst []byte, num int, ns int64, present bool) []byte {
	if !present {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(num)<<3|wireFixed8)
	return binary.LittleEndian.AppendUint64(dst, uint64(ns))
}

func appendProtoRecord(dst []byte, r *Record) []byte {
	dst = appendProtoText(dst, 1, r.ID, true)
	dst = appendProtoInt(dst, 2, uint64(r.Status), true)
	dst = appendProtoText(dst, 3, r.Source, r.Source != "" && r.Source != DefaultSource)
	dst = appendProtoText(dst, 4, r.Epoch, r.Epoch != "")
	dst = appendProtoText(dst, 5, r.Session, r.Session != "")
	dst = appendProtoInt(dst, 6, uint64(r.Seq), r.Flags&HasSeq != 0)
	dst = appendProtoTime(dst, pStart, r.Start, r.Flags&HasTimes != 0)
	dst = appendProtoTime(dst, pEnd, r.End, r.Flags&HasTimes != 0)
	for i := range r.Ops {
		dst = appendMessage(dst, 9, func(dst []byte) []byte { return appendProtoOp(dst, &r.Ops[i]) })
	}
	dst = appendProtoInt(dst, 10, uint64(r.StartTS), r.Flags&HasStartTS != 0)
	dst = appendProtoInt(dst, 11, uint64(r.CommitTS), r.Flags&HasCommitTS != 0)
	dst = appendProtoText(dst, 12, r.Isolation, r.Isolation != "")
	dst = appendProtoInt(dst, 13, 1, r.Flags&Stale != 0)
	dst = appendProtoText(dst, 14, r.Name, r.Name != "")
	dst = appendProtoText(dst, 15, r.TraceID, r.TraceID != "")
	return appendProtoLabels(dst, r.Labels)
}

func appendProtoLabels(dst []byte, labels map[string]string) []byte {
	for _, name := range record.LabelNames(labels) {
		dst = appendMessage(dst, pLabels, func(dst []byte) []byte {
			dst = appendProtoText(dst, 1, name, true)
			return appendProtoText(dst, 2, labels[name], true)
		})
	}
	return dst
}

func appendProtoOp(dst []byte, o *RecordOp) []byte {
	dst = appendProtoInt(dst, 1, uint64(o.Kind), true)
	dst = appendProtoText(dst, pKey, o.Key, o.Key != "")
	dst = appendProtoJSONValue(dst, pValue, o.Value)
	switch {
	case o.Kind == Read && o.Flags&NotFound != 0:
		dst = appendProtoInt(dst, pFound, 0, true)
	case o.Kind == Read && o.Value == "null":
		dst = appendProtoInt(dst, pFound, 1, true)
	}
	dst = appendProtoInt(dst, 5, uint64(o.Data), o.Data != AnyKind)
	dst = appendProtoJSONValue(dst, 6, o.Version)
	dst = appendProtoJSONValue(dst, 7, o.PrevVersion)
	dst = appendProtoJSONValue(dst, pExpected, o.Expected)
	dst = appendProtoJSONValue(dst, 9, o.Seen)
	if o.Kind == CAS {
		success := uint64(0)
		if o.Flags&Success != 0 {
			success = 1
		}
		dst = appendProtoInt(dst, pSuccess, success, true)
	}
	dst = appendProtoText(dst, 11, o.From, o.HasFrom)
	dst = appendProtoText(dst, 12, o.To, o.HasTo)
	dst = appendProtoInt(dst, 13, 1, o.Desc)
	dst = appendProtoInt(dst, 14, uint64(o.Limit), o.Limit != 0)
	for _, row := range o.Rows {
		dst = appendMessage(dst, 15, func(dst []byte) []byte {
			dst = appendProtoText(dst, 1, row.Key, row.Key != "")
			return appendProtoJSONValue(appendProtoJSONValue(dst, 2, row.Value), 3, row.Version)
		})
	}
	return dst
}

// appendProtoJSONValue appends a Value whose canonical text is given; an empty
// text is an absent value. Small integers take their short form, all else is
// written as JSON.
func appendProtoJSONValue(dst []byte, num int, text string) []byte {
	if text == "" {
		return dst
	}
	return appendMessage(dst, num, func(dst []byte) []byte {
		if text == "null" {
			return appendProtoInt(dst, 1, 1, true)
		}
		if n, ok := smallInt(text); ok {
			return appendProtoInt(dst, 2, uint64(n<<1)^uint64(n>>63), true)
		}
		return appendProtoText(dst, 4, text, true)
	})
}

// smallInt reads an integer of at most 18 digits whose text is that which it
// would be printed as.
func smallInt(text string) (n int64, ok bool) {
	digits := text
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 18 || digits[0] == '0' && text != "0" {
		return 0, false
	}
	for _, c := range []byte(digits) {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if digits != text {
		n = -n
	}
	return n, true
}
