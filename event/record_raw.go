package event

import "bytes"

// RecordIn is the record of a message as it came in, by its [Position.Sub]; nil where the message has no such record.
func RecordIn(msg []byte, sub uint32) []byte {
	if IsProto(msg) {
		var d Decoder
		d.rec = msg
		for at := 0; at < len(msg); {
			var f wireField
			next := d.wire(&f, at, len(msg))
			switch {
			case next < 0 || f.num == 2 && f.wire != wireBytes:
				return nil
			case f.num != 2:
			case sub == 0:
				return msg[f.off:f.end]
			default:
				sub--
			}
			at = next
		}
		return nil
	}
	for len(msg) > 0 {
		line, rest, _ := bytes.Cut(msg, []byte{'\n'})
		if msg = rest; blank(line) {
			continue
		}
		if sub == 0 {
			return line
		}
		sub--
	}
	return nil
}
