package event

// RecordEpoch is the epoch of a compact record, a part of rec. It is nil if the record names no
// epoch, or if rec is not a record.
func RecordEpoch(rec []byte) []byte {
	r := recordReader{rec: rec}
	version, _, has := r.byte(), r.byte(), r.byte()
	if r.err != nil || version != recordVersion || has&hasEpoch == 0 {
		return nil
	}
	r.bytes() // its id
	if has&hasSource != 0 {
		r.bytes()
	}
	return r.bytes()
}
