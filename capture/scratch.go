package capture

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"

	"github.com/isowatch/isowatch/event/record"
)

// scratch is the memory in which a transaction is encoded. The next one takes it over.
type scratch struct {
	op    record.Op
	text  []byte // canonical JSON of a value, or a key
	out   []byte // the same as the record has it
	ops   []byte // operations, encoded, with commas between them
	line  []byte
	mac   hash.Hash // nil: nothing is hashed
	total [sha256.Size]byte
}

// maxKept is how many bytes of a buffer are kept between transactions.
const maxKept = 64 << 10

// reset empties s for the next transaction.
func (s *scratch) reset() {
	s.op = record.Op{}
	for _, b := range []*[]byte{&s.text, &s.out, &s.ops, &s.line} {
		if *b = (*b)[:0]; cap(*b) > maxKept {
			*b = nil
		}
	}
}

// hashBytes is how much of the HMAC is kept: of 10^9 values the chance that two
// share a hash is below 10^-20.
const hashBytes = 16

// appendHash appends the hash of text: the first 16 bytes of its HMAC-SHA256 in
// base64url without padding, 22 characters.
func (s *scratch) appendHash(dst, text []byte) []byte {
	s.mac.Reset()
	s.mac.Write(text)
	return base64.RawURLEncoding.AppendEncode(dst, s.mac.Sum(s.total[:0])[:hashBytes])
}

// hashKey is the key of one source: equal values of two sources have two hashes.
func hashKey(secret []byte, source string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("isowatch capture 1 " + source))
	return mac.Sum(nil)
}

// scratch is a free one, or a new one.
func (r *Recorder) scratch() *scratch {
	if s, ok := r.free.Get().(*scratch); ok {
		return s
	}
	s := &scratch{}
	if r.hashKey != nil {
		s.mac = hmac.New(sha256.New, r.hashKey)
	}
	return s
}
