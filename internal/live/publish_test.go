//go:build integration

package live

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/internal/testnats"
)

const (
	streamName = "LIVE"
	publishers = 4
	// Records are delayed by up to mostDelay, one in longEvery by longDelay.
	mostDelay = 50 * time.Millisecond
	longDelay = 500 * time.Millisecond
	longEvery = 50
	// ackPatience bounds how long the server may take to store what was published.
	ackPatience = 30 * time.Second
)

// publisher sends records over several connections, each at a random moment, as
// several processes do that batch and retry.
type publisher struct {
	streams []jetstream.JetStream
	pending sync.WaitGroup // records that wait for their moment

	mu     sync.Mutex
	rng    *rand.Rand
	sent   int
	faults []error
}

// startPublisher starts a nats-server with the stream.
func startPublisher(t *testing.T, seed uint64) (p *publisher, url string) {
	t.Helper()
	program, err := testnats.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := &testnats.Server{Program: program, Dir: t.TempDir()}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Kill() })
	p = &publisher{rng: rand.New(rand.NewPCG(seed, 0))}
	for range publishers {
		nc, err := nats.Connect(server.URL())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc, jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) {
			p.fault(fmt.Errorf("%s: %w", m.Subject, err))
		}))
		if err != nil {
			t.Fatal(err)
		}
		p.streams = append(p.streams, js)
	}
	if _, err := p.streams[0].CreateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"live.>"}}); err != nil {
		t.Fatal(err)
	}
	return p, server.URL()
}

// publish sends a record after its delay.
func (p *publisher) publish(source string, record []byte) {
	p.mu.Lock()
	js := p.streams[p.rng.IntN(len(p.streams))]
	delay := time.Duration(p.rng.Int64N(int64(mostDelay)))
	if p.rng.IntN(longEvery) == 0 {
		delay = longDelay
	}
	p.sent++
	p.mu.Unlock()
	p.pending.Add(1)
	time.AfterFunc(delay, func() {
		defer p.pending.Done()
		if _, err := js.PublishAsync("live."+source, record); err != nil {
			p.fault(err)
		}
	})
}

func (p *publisher) fault(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, err)
}

// finish waits until all is stored, and returns how many records that is.
func (p *publisher) finish(t *testing.T) int {
	t.Helper()
	p.pending.Wait()
	for _, js := range p.streams {
		select {
		case <-js.PublishAsyncComplete():
		case <-time.After(ackPatience):
			t.Fatal("the nats-server does not acknowledge")
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, err := range p.faults {
		t.Fatal(err)
	}
	return p.sent
}
