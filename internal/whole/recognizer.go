package whole

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/event"
)

// ErrForeign: a file is not a history in a known format.
var ErrForeign = errors.New("no line of it is a record (docs/format.md), and it is a history in no other format that is known")

// Recognizer tells a history with bad records from what is none at all.
type Recognizer struct {
	known bool   // a record was read, or a line begins like one and has the field txn or the type mark
	bad   bool   // there are bad records
	first []byte // the beginning of the first one
	why   string // what is wrong with it
}

// Decode appends the records of a message to b.
func (s *Recognizer) Decode(d *event.Decoder, b *event.Batch, pos event.Position, msg []byte) {
	before, bad := len(b.Txns)+len(b.Parts)+len(b.Marks), len(b.Bad)
	d.DecodeMessage(b, pos, msg)
	if s.known {
		return
	}
	s.known = len(b.Txns)+len(b.Parts)+len(b.Marks) > before
	for i := bad; i < len(b.Bad) && !s.known; i++ {
		raw := b.Bytes(b.Bad[i].Raw)
		if !s.bad {
			s.bad, s.first, s.why = true, bytes.Clone(raw[:min(len(raw), 16)]), b.Bad[i].Reason
		}
		s.known = bytes.HasPrefix(bytes.TrimLeft(raw, " \t"), []byte("{")) && (bytes.Contains(raw, []byte(`"txn"`)) || bytes.Contains(raw, []byte(`"mark"`)))
	}
}

// Fault is ErrForeign, with a hint where the first line gives one.
func (s *Recognizer) Fault() error {
	if s.known || !s.bad {
		return nil
	}
	switch first := bytes.TrimSpace(s.first); {
	case bytes.HasPrefix(first, []byte("[")):
		return fmt.Errorf("%w: write one transaction a line (jq -c '.[]')", ErrForeign)
	case string(first) == "{":
		return fmt.Errorf("%w: write one transaction a line (jq -c .)", ErrForeign)
	case bytes.HasPrefix(first, []byte("\xff\xfe")), bytes.HasPrefix(first, []byte("\xfe\xff")):
		return fmt.Errorf("%w: it is in UTF-16, write it in UTF-8", ErrForeign)
	case bytes.HasPrefix(first, []byte("{")):
		return fmt.Errorf("%w: the first line: %s", ErrForeign, s.why)
	}
	return ErrForeign
}
