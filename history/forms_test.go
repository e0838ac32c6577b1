package history

import "encoding/binary"

type dbcopTestEvent struct {
	write           bool
	variable, value uint64
	success         bool
}

type dbcopTestTxn struct {
	events  []dbcopTestEvent
	success bool
}

// bincodeOf writes a file of dbcop field by field.
func bincodeOf(info string, sessions [][]dbcopTestTxn) []byte {
	var out []byte
	u64 := func(u int) { out = binary.LittleEndian.AppendUint64(out, uint64(u)) }
	flag := func(b bool) {
		if b {
			out = append(out, 1)
		} else {
			out = append(out, 0)
		}
	}
	for i := range 5 {
		u64(i)
	}
	for _, text := range []string{info, "", ""} {
		u64(len(text))
		out = append(out, text...)
	}
	u64(len(sessions))
	for _, s := range sessions {
		u64(len(s))
		for _, t := range s {
			u64(len(t.events))
			for _, e := range t.events {
				flag(e.write)
				u64(int(e.variable))
				u64(int(e.value))
				flag(e.success)
			}
			flag(t.success)
		}
	}
	return out
}

// cobraOf writes a log of Cobra: letters as runes, numbers as they follow.
func cobraOf(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch x := p.(type) {
		case rune:
			out = append(out, byte(x))
		case int:
			out = binary.BigEndian.AppendUint64(out, uint64(x))
		}
	}
	return out
}
