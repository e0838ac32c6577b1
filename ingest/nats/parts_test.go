package nats

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/isowatch/isowatch/ingest"
)

func TestParseReply(t *testing.T) {
	want := delivery{stream: 812, consumer: 12, time: 1763668800123456789, pending: 7}
	for _, c := range []struct {
		name, in string
		ok       bool
	}{
		{"first form", "$JS.ACK.S.C.1.812.12.1763668800123456789.7", true},
		{"with domain and account", "$JS.ACK._.hash.S.C.1.812.12.1763668800123456789.7", true},
		{"with a token at the end", "$JS.ACK.hub.hash.S.C.1.812.12.1763668800123456789.7.rand", true},
		{"too few tokens", "$JS.ACK.S.C.1.812.12.1763668800123456789", false},
		{"between the forms", "$JS.ACK.x.S.C.1.812.12.1763668800123456789.7", false},
		{"no number", "$JS.ACK.S.C.1.812.twelve.1763668800123456789.7", false},
		{"empty number", "$JS.ACK.S.C.1.812..1763668800123456789.7", false},
		{"number beyond 19 digits", "$JS.ACK.S.C.1.81200000000000000000.12.1.7", false},
		{"another subject", "_INBOX.S.C.1.812.12.1763668800123456789.7", false},
		{"empty", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseReply(c.in)
			if (err == nil) != c.ok {
				t.Fatalf("error %v", err)
			}
			if c.ok && got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = parseReply("$JS.ACK.S.C.1.812.12.1763668800123456789.7") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestResume(t *testing.T) {
	made := time.Date(2026, 11, 20, 10, 0, 0, 5, time.UTC)
	const id, other = "2026-11-20T10:00:00.000000005Z", "2026-11-01T00:00:00Z"
	for _, c := range []struct {
		name        string
		cursor      ingest.Cursor
		first, last uint64
		next        uint64
		identity    string
		gap         string
	}{
		{"first start, empty stream", ingest.Cursor{}, 0, 0, 1, id, ""},
		{"first start, trimmed stream", ingest.Cursor{}, 40, 90, 40, id, ""},
		{"sequence without identity", ingest.Cursor{Next: 50}, 40, 90, 50, id, ""},
		{"inside", ingest.Cursor{Next: 50, Identity: id}, 40, 90, 50, id, ""},
		{"at the end", ingest.Cursor{Next: 91, Identity: id}, 40, 90, 91, id, ""},
		{"at the end of a purged stream", ingest.Cursor{Next: 91, Identity: id}, 91, 90, 91, id, ""},
		{"purged below", ingest.Cursor{Next: 50, Identity: id}, 91, 90, 91, id, "50-91"},
		{"trimmed below", ingest.Cursor{Next: 30, Identity: id}, 40, 90, 40, id, "30-40"},
		{"recreated, shorter", ingest.Cursor{Next: 91, Identity: other}, 1, 3, 1, id, "91-91"},
		{"recreated, longer", ingest.Cursor{Next: 2, Identity: other}, 1, 90, 1, id, "2-2"},
		{"recreated after a loss", ingest.Cursor{Next: 2, Identity: other + "+3"}, 1, 90, 1, id, "2-2"},
		{"end lost", ingest.Cursor{Next: 95, Identity: id}, 40, 90, 91, id + "+1", "91-91"},
		{"end lost again", ingest.Cursor{Next: 95, Identity: id + "+1"}, 40, 90, 91, id + "+2", "91-91"},
		{"everything lost", ingest.Cursor{Next: 95, Identity: id}, 0, 0, 1, id + "+1", "1-1"},
		{"after a loss", ingest.Cursor{Next: 91, Identity: id + "+1"}, 40, 90, 91, id + "+1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := resume(c.cursor, incarnation{created: made.Local(), first: c.first, last: c.last})
			gap := ""
			for _, g := range p.gaps {
				gap += fmt.Sprintf("%d-%d", g.From, g.To)
			}
			if p.next != c.next || p.identity != c.identity || gap != c.gap {
				t.Errorf("got next %d, identity %s, gaps %v", p.next, p.identity, p.gaps)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		code, text string
		want       statusMessage
		reason     string
	}{
		{"100", "Idle Heartbeat", statusHeartbeat, "Idle Heartbeat"},
		{"408", "Request Timeout", statusEnded, "Request Timeout"},
		{"409", "Batch Completed", statusEnded, "Batch Completed"},
		{"409", "Message Size Exceeds MaxBytes", statusTooLarge, "Message Size Exceeds MaxBytes"},
		{"409", "Consumer Deleted", statusLost, `the server says "Consumer Deleted", status 409`},
		{"409", "Server Shutdown", statusLost, `the server says "Server Shutdown", status 409`},
		{"409", "Leadership Change", statusLost, `the server says "Leadership Change", status 409`},
		{"400", "Bad Request", statusLost, `the server says "Bad Request", status 400`},
		{"503", "", statusLost, "no server answers its requests: the consumer was deleted, or its server is gone"},
	} {
		m := &nats.Msg{Header: nats.Header{"Status": {c.code}, "Description": {c.text}}}
		if got, reason := readStatus(m); got != c.want || reason != c.reason {
			t.Errorf("%s %s: got %d, %q, want %d, %q", c.code, c.text, got, reason, c.want, c.reason)
		}
	}
}

func TestPullsBooksWhatIsOpen(t *testing.T) {
	ended := func(messages, bytes string) *nats.Msg {
		return &nats.Msg{Header: nats.Header{"Nats-Pending-Messages": {messages}, "Nats-Pending-Bytes": {bytes}}}
	}
	p := pulls{messages: 100, bytes: 1000, openMessages: 100, openBytes: 1000}
	p.ended(ended("100", "1000"), statusEnded)
	if p.openMessages != 0 || p.openBytes != 0 || p.bytes != 1000 {
		t.Errorf("after a time-out: %+v", p)
	}
	p.openMessages, p.openBytes, p.received = 100, 1000, true
	p.ended(ended("90", "400"), statusTooLarge)
	if p.openMessages != 10 || p.openBytes != 600 || p.bytes != 1000 {
		t.Errorf("after a message that did not fit the rest: %+v", p)
	}
	p.openMessages, p.openBytes = 100, 1000
	p.ended(ended("100", "1000"), statusTooLarge)
	if p.bytes != 2000 {
		t.Errorf("a message that fits no request leaves the read-ahead at %d bytes", p.bytes)
	}
	p.ended(ended("7", "7"), statusEnded)
	if p.openMessages != 0 || p.openBytes != 0 {
		t.Errorf("more given back than was open: %+v", p)
	}
}

func TestPullsPace(t *testing.T) {
	for _, c := range []struct {
		got  int
		in   time.Duration
		want time.Duration
	}{
		{0, time.Minute, paceMost},
		{1, time.Millisecond, paceMost},
		{100, paceMost, paceMost},
		{4 * paceMessages, paceMost, paceMost / 4},
		{paceMessages, paceMost / 4, paceMost / 4}, // it stays where it is
		{100 * paceMessages, paceMost, paceLeast},
	} {
		if got := paceAt(c.got, c.in); got != c.want {
			t.Errorf("%d messages in %v: %v, want %v", c.got, c.in, got, c.want)
		}
	}
	p := pulls{messages: 100, bytes: 1000, openMessages: 99, openBytes: 900, single: true}
	p.ended(&nats.Msg{}, statusEnded) // 404 without numbers
	if p.openMessages != 0 || p.openBytes != 0 {
		t.Errorf("a request that ended at the end of the stream leaves open %+v", p)
	}
	p = pulls{messages: 100, bytes: 1000, every: time.Minute, asked: time.Now()}
	if wait, err := p.refill(0); err != nil || wait < 50*time.Second {
		t.Errorf("at the end of the stream it waits for %v, %v; want nearly a minute", wait, err)
	}
}

// Where nothing has come for a minute, the server is asked for fewer heartbeats, and for more again after a message.
func TestPullsHeartbeat(t *testing.T) {
	s := newSite(t)
	asked, err := s.nc.SubscribeSync("asks")
	if err != nil {
		t.Fatal(err)
	}
	p := pulls{conn: s.nc, subject: "asks", inbox: "answers", messages: 100, bytes: 1000, came: time.Now().Add(-calmAfter - time.Second)}
	for _, want := range []time.Duration{calmHeartbeat, heartbeat} {
		if _, err := p.refill(0); err != nil {
			t.Fatal(err)
		}
		m, err := asked.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		var r pullRequest
		if err := json.Unmarshal(m.Data, &r); err != nil || r.Heartbeat != want {
			t.Errorf("asked for a heartbeat each %v (%v), want %v", r.Heartbeat, err, want)
		}
		p.took(&nats.Msg{})
		p.ended(&nats.Msg{}, statusEnded)
		p.every = 0
	}
}
