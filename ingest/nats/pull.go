package nats

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// statusMessage is a reply to a pull request that is not a message of the stream.
type statusMessage int

const (
	statusHeartbeat statusMessage = iota // the server has nothing more to send
	statusEnded                          // a request ended before it was used up
	statusTooLarge                       // the next message does not fit what is left of a request
	statusLost                           // the consumer is gone or may be
)

// errConsumer means that the consumer must be made again: [gone] tells why.
var errConsumer = errors.New("the consumer must be made again")

func gone(reason string) error { return fmt.Errorf("%w: %s", errConsumer, reason) }

// readStatus also gives the server's reason, with its code.
func readStatus(m *nats.Msg) (statusMessage, string) {
	code, text := m.Header.Get("Status"), m.Header.Get("Description")
	lower := strings.ToLower(text)
	switch {
	case code == "100":
		return statusHeartbeat, text
	case code == "404", code == "408", code == "409" && strings.Contains(lower, "batch completed"):
		return statusEnded, text
	case code == "409" && strings.Contains(lower, "exceeds maxbytes"):
		return statusTooLarge, text
	case code == "503":
		return statusLost, "no server answers its requests: the consumer was deleted, or its server is gone"
	default:
		return statusLost, fmt.Sprintf("the server says %q, status %s", text, code)
	}
}

// pulls keeps a consumer supplied with requests. While there is a backlog, what the server may
// still send stays between half of and the full read-ahead. At the end of the stream one request
// waits for the next message, and ends with the last one that is there then. The next request
// follows at a pace. A message that comes alone costs the server and the reader a wake-up each, some
// 50 us of processor time.
type pulls struct {
	conn     *nats.Conn
	subject  string // of the consumer's requests
	inbox    string
	messages int // the full read-ahead
	bytes    int

	openMessages int // granted to the server and not yet received
	openBytes    int
	received     bool      // a message since the last status
	came         time.Time // about when the latest message came, or the reading began

	single bool      // the one open request ends at the end of the stream
	asked  time.Time // when the latest such request was sent
	got    int       // messages since then
	every  time.Duration
}

type pullRequest struct {
	Expires   time.Duration `json:"expires"`
	Batch     int           `json:"batch"`
	MaxBytes  int           `json:"max_bytes"`
	Heartbeat time.Duration `json:"idle_heartbeat"`
	NoWait    bool          `json:"no_wait,omitempty"` // it ends at the end of the stream, but waits for a first message
}

// took books a message of the stream. Its size is counted as the server counts
// it: subject, reply subject, headers and payload.
func (p *pulls) took(m *nats.Msg) {
	p.received = true
	p.got++
	p.openMessages = max(p.openMessages-1, 0)
	p.openBytes = max(p.openBytes-m.Size(), 0)
}

// ended books a request that ended early. A request that held the full read-ahead and still was
// too small for one message doubles it. A message may be larger than any limit set here.
func (p *pulls) ended(m *nats.Msg, s statusMessage) {
	n, _ := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	b, _ := strconv.Atoi(m.Header.Get("Nats-Pending-Bytes"))
	whole := !p.received && b >= p.bytes
	p.openMessages = max(p.openMessages-n, 0)
	p.openBytes = max(p.openBytes-b, 0)
	if p.single { // its end may come without numbers
		p.openMessages, p.openBytes = 0, 0
	}
	if s == statusTooLarge && whole {
		p.bytes *= 2
	}
	p.received = false
}

// refill asks for more when less than half is open. pending is the number of messages that
// the server still had when it sent the latest one. A wait above 0 says when to ask again.
func (p *pulls) refill(pending uint64) (wait time.Duration, err error) {
	if p.openMessages >= (p.messages+1)/2 && p.openBytes >= p.bytes/2 {
		return 0, nil
	}
	n, b := p.messages-p.openMessages, p.bytes-p.openBytes
	if n <= 0 || b <= 0 {
		return 0, nil
	}
	if p.got > 0 {
		p.came = time.Now()
	}
	if pending == 0 {
		if p.openMessages > 0 {
			return 0, nil
		}
		since := time.Since(p.asked)
		if wait := p.every - since; wait > 0 {
			return wait, nil
		}
		p.every = paceAt(p.got, since)
		p.asked, p.got = time.Now(), 0
	} else {
		n = int(min(uint64(n), pending-min(pending, uint64(p.openMessages))))
		if n == 0 || p.openMessages > 0 && (p.single || n < p.messages/4) {
			return 0, nil
		}
	}
	p.single = pending == 0
	req, err := json.Marshal(pullRequest{Expires: requestLife, Batch: n, MaxBytes: b, Heartbeat: p.heartbeat(), NoWait: p.single})
	if err != nil {
		return 0, err
	}
	if err := p.conn.PublishRequest(p.subject, p.inbox, req); err != nil {
		return 0, err
	}
	p.openMessages += n
	p.openBytes += b
	return 0, nil
}

// heartbeat is how often the server says that it has nothing.
func (p *pulls) heartbeat() time.Duration {
	if time.Since(p.came) > calmAfter {
		return calmHeartbeat
	}
	return heartbeat
}

// paceAt is the time in which paceMessages come where got have come in that time, within bounds.
func paceAt(got int, in time.Duration) time.Duration {
	pace := float64(in) * paceMessages / float64(max(got, 1))
	return time.Duration(min(max(pace, float64(paceLeast)), float64(paceMost)))
}
