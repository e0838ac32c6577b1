package nats

import "errors"

// delivery is the server's description of a message in its reply subject.
type delivery struct {
	stream   uint64 // sequence in the stream
	consumer uint64 // sequence of this delivery, dense from 1
	time     int64  // when the message was stored, ns since the Unix epoch
	pending  uint64 // messages that follow, as of sending
}

var errReply = errors.New("a message without JetStream's reply subject")

const (
	replyPrefix = "$JS.ACK."
	// Tokens of $JS.ACK.STREAM.CONSUMER.DELIVERED.SSEQ.CSEQ.TIME.PENDING. The
	// newer form has DOMAIN.ACCOUNT before STREAM, and may have further tokens
	// at its end.
	tokensV1 = 9
	tokensV2 = 11
)

// parseReply reads s without allocating. Stream and consumer names hold no dot.
func parseReply(s string) (delivery, error) {
	if len(s) < len(replyPrefix) || s[:len(replyPrefix)] != replyPrefix {
		return delivery{}, errReply
	}
	var start [tokensV2 + 1]int // where each token begins; the last: behind the end
	n := 0
	for i := 0; i <= len(s) && n < tokensV2; n++ {
		start[n] = i
		for i < len(s) && s[i] != '.' {
			i++
		}
		i++
		start[n+1] = i
	}
	first := 5
	switch {
	case n == tokensV2:
		first = 7
	case n != tokensV1:
		return delivery{}, errReply
	}
	var v [4]uint64
	for k := range v {
		var ok bool
		if v[k], ok = parseUint(s[start[first+k] : start[first+k+1]-1]); !ok {
			return delivery{}, errReply
		}
	}
	return delivery{stream: v[0], consumer: v[1], time: int64(v[2]), pending: v[3]}, nil
}

func parseUint(s string) (uint64, bool) {
	if len(s) == 0 || len(s) > 19 {
		return 0, false
	}
	var n uint64
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	return n, true
}
