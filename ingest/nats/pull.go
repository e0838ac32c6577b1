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
	case code == "408", code == "409" && strings.Contains(lower, "batch completed"):
		return statusEnded, text
	case code == "409" && strings.Contains(lower, "exceeds maxbytes"):
		return statusTooLarge, text
	case code == "503":
		return statusLost, "no server answers its requests"
	default:
		return statusLost, fmt.Sprintf("the server says %q, status %s", text, code)
	}
}

// pulls keeps a consumer supplied with requests: what the server may still send
// stays between half of and the full read-ahead.
type pulls struct {
	conn     *nats.Conn
	subject  string // of the consumer's requests
	inbox    string
	messages int // the full read-ahead
	bytes    int

	openMessages int // granted to the server and not yet received
	openBytes    int
	received     bool // a message since the last status
}

type pullRequest struct {
	Expires   time.Duration `json:"expires"`
	Batch     int           `json:"batch"`
	MaxBytes  int           `json:"max_bytes"`
	Heartbeat time.Duration `json:"idle_heartbeat"`
}

// took books a message of the stream. Its size is counted as the server counts
// it: subject, reply subject, headers and payload.
func (p *pulls) took(m *nats.Msg) {
	p.received = true
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
	if s == statusTooLarge && whole {
		p.bytes *= 2
	}
	p.received = false
}

// refill asks for more when less than half is open.
func (p *pulls) refill() error {
	if p.openMessages >= (p.messages+1)/2 && p.openBytes >= p.bytes/2 {
		return nil
	}
	n, b := p.messages-p.openMessages, p.bytes-p.openBytes
	if n <= 0 || b <= 0 {
		return nil
	}
	req, err := json.Marshal(pullRequest{Expires: requestLife, Batch: n, MaxBytes: b, Heartbeat: heartbeat})
	if err != nil {
		return err
	}
	if err := p.conn.PublishRequest(p.subject, p.inbox, req); err != nil {
		return err
	}
	p.openMessages += n
	p.openBytes += b
	return nil
}
