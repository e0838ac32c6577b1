package event

import "encoding/binary"

// The compact record, version 1. Integers are varints unless said otherwise,
// signed ones zigzag; a text is its length and its bytes.
//
//	byte     recordVersion
//	byte     status (2 bits), TxnFlags << 2
//	byte     which of the texts below are present (hasSource ...)
//	text     txn
//	text     source, epoch, session, name, isolation, trace_id: the present ones
//	text     labels, if present: of each one its name and its value, as texts
//	int      seq                      with HasSeq
//	8 bytes  start, little-endian     with HasTimes
//	uint     end - start              with HasTimes
//	int      start_ts                 with HasStartTS
//	int      commit_ts                with HasCommitTS
//	uint     number of operations, and each of them:
//	  byte     OpKind, DataKind << 4
//	  byte     OpFlags, opHasValue, opHasKey
//	  text     key                    with opHasKey
//	  16 bytes its hash, little-endian with ShortKey
//	  text     value, canonical       with opHasValue
//	  16 bytes its hash, little-endian with ShortValue
//	  byte     which of the following are present (extraVersion ...), with HasExtra
//	  text     version, prev_version, expected, seen, from, to
//	  uint     limit
//	  uint     number of rows, and each row's key and value as texts; in a range,
//	           extraExpected says that each row's version follows, empty where it tells none
//
// Hashes and the elements of arrays are left out: the reader computes them.
const recordVersion = 1

const (
	hasSource = 1 << iota // other than DefaultSource
	hasEpoch
	hasSession
	hasName
	hasIsolation
	hasTraceID
	hasLabels
)

const (
	opHasValue = 1 << (iota + 4) // above the OpFlags
	opHasKey

	opFlagsMask = opHasValue - 1 | byte(ShortValue|ShortKey)
)

const (
	extraVersion = 1 << iota
	extraPrevVersion
	extraExpected // in a range: rows have versions
	extraSeen
	extraFrom
	extraTo
	extraDesc
	extraRange // limit and rows
)

// AppendRecord appends t as a compact record, which holds all that t says but
// its position. Its reader is [Decoder.DecodeRecord].
func AppendRecord(dst []byte, b *Batch, t *Txn) []byte {
	var has byte
	if t.Source.Len > 0 && string(b.Bytes(t.Source)) != DefaultSource {
		has |= hasSource
	}
	if t.Session.Len > 0 {
		has |= hasSession
	}
	if t.Epoch.Len > 0 {
		has |= hasEpoch
	}
	if t.Name.Len > 0 {
		has |= hasName
	}
	if t.Isolation.Len > 0 {
		has |= hasIsolation
	}
	if t.TraceID.Len > 0 {
		has |= hasTraceID
	}
	if t.Labels.Len > 0 {
		has |= hasLabels
	}
	dst = append(dst, recordVersion, byte(t.Status)|byte(t.Flags)<<2, has)
	dst = appendText(dst, b, t.ID)
	if has&hasSource != 0 {
		dst = appendText(dst, b, t.Source)
	}
	for _, s := range [...]Span{t.Epoch, t.Session, t.Name, t.Isolation, t.TraceID, t.Labels} {
		if s.Len > 0 {
			dst = appendText(dst, b, s)
		}
	}
	dst = appendNumbers(dst, t)
	dst = binary.AppendUvarint(dst, uint64(t.NumOps))
	ops := b.OpsOf(t)
	for i := range ops {
		dst = appendOp(dst, b, &ops[i])
	}
	return dst
}

func appendNumbers(dst []byte, t *Txn) []byte {
	if t.Flags&HasSeq != 0 {
		dst = binary.AppendVarint(dst, t.Seq)
	}
	if t.Flags&HasTimes != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(t.Start))
		dst = binary.AppendUvarint(dst, uint64(t.End)-uint64(t.Start))
	}
	if t.Flags&HasStartTS != 0 {
		dst = binary.AppendVarint(dst, t.StartTS)
	}
	if t.Flags&HasCommitTS != 0 {
		dst = binary.AppendVarint(dst, t.CommitTS)
	}
	return dst
}

func appendText(dst []byte, b *Batch, s Span) []byte {
	if s.Len < 0x80 {
		dst = append(dst, byte(s.Len))
	} else {
		dst = binary.AppendUvarint(dst, uint64(s.Len))
	}
	return append(dst, b.Data[s.Off:s.Off+s.Len]...)
}

// appendOp appends o as an operation of the compact record.
func appendOp(dst []byte, b *Batch, o *Op) []byte {
	flags := byte(o.Flags)
	if o.Key.Len > 0 || o.Kind != Range {
		flags |= opHasKey
	}
	if o.Value.Len > 0 {
		flags |= opHasValue
	}
	dst = append(dst, byte(o.Kind)|byte(o.Data)<<4, flags)
	if flags&opHasKey != 0 {
		dst = appendText(dst, b, o.Key)
	}
	if o.Flags&ShortKey != 0 {
		dst = appendHash(dst, o.KeyHash)
	}
	if flags&opHasValue != 0 {
		dst = appendText(dst, b, o.Value)
	}
	if o.Flags&ShortValue != 0 {
		dst = appendHash(dst, o.ValueHash)
	}
	if o.Flags&HasExtra != 0 {
		dst = appendExtra(dst, b, &b.Extras[o.Extra], o.Kind)
	}
	return dst
}

func appendExtra(dst []byte, b *Batch, x *Extra, kind OpKind) []byte {
	texts := [...]Span{x.Version, x.PrevVersion, x.Expected, x.Seen, x.From, x.To}
	var has byte
	for i, s := range texts {
		if s.Len > 0 {
			has |= 1 << i
		}
	}
	if x.HasFrom {
		has |= extraFrom
	}
	if x.HasTo {
		has |= extraTo
	}
	if x.Desc {
		has |= extraDesc
	}
	rows := b.Rows[x.FirstRow : x.FirstRow+x.NumRows]
	versions := false
	if kind == Range {
		has |= extraRange
		for i := range rows {
			versions = versions || rows[i].Version.Len > 0
		}
		if versions {
			has |= extraExpected
		}
	}
	dst = append(dst, has)
	for i, s := range texts {
		if has>>i&1 != 0 && !(versions && 1<<i == extraExpected) {
			dst = appendText(dst, b, s)
		}
	}
	if has&extraRange == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(x.Limit))
	dst = binary.AppendUvarint(dst, uint64(x.NumRows))
	for i := range rows {
		dst = appendText(dst, b, rows[i].Key)
		dst = appendText(dst, b, rows[i].Value)
		if versions {
			dst = appendText(dst, b, rows[i].Version)
		}
	}
	return dst
}

func appendHash(dst []byte, h Hash) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, h.Lo), h.Hi)
}
