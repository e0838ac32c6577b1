package kafka

import (
	"context"
	"net"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// closeInterval is the least time between two closings of the idle
// connections. Readers of many partitions share one pool: without a limit each
// failing reader would make all the others log in again.
const closeInterval = 200 * time.Millisecond

// Cluster is a pool of connections to a Kafka cluster. It is safe for
// concurrent use.
type Cluster struct {
	Addr      net.Addr
	Transport *kafkago.Transport
	Client    *kafkago.Client

	opts Options

	mu       sync.Mutex
	closedAt time.Time // of the last Reconnect
}

// Open reads the files that o names and prepares the pool; nothing is dialled.
func Open(o Options) (*Cluster, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	t := &kafkago.Transport{
		DialTimeout:    o.DialTimeout,
		MetadataTTL:    o.MetadataTTL,
		MetadataTopics: o.Topics,
		ClientID:       "isowatch",
	}
	if t.DialTimeout == 0 {
		t.DialTimeout = DefaultDialTimeout
	}
	if t.MetadataTTL == 0 {
		t.MetadataTTL = DefaultMetadataTTL
	}
	var err error
	if t.TLS, err = o.tlsConfig(); err != nil {
		return nil, err
	}
	if t.SASL, err = o.mechanism(); err != nil {
		return nil, err
	}
	hosts := make([]string, len(o.Brokers))
	for i, b := range o.Brokers {
		hosts[i], _ = address(b) // Validate has seen it
	}
	c := &Cluster{Addr: kafkago.TCP(hosts...), Transport: t, opts: o}
	c.Client = &kafkago.Client{Addr: c.Addr, Transport: t}
	return c, nil
}

// Probe asks one broker for its API versions and returns nil, or the cause in
// plain words. The other requests of kafka-go hide it: with no layout of the
// cluster at hand they answer "topic not found".
func (c *Cluster) Probe(ctx context.Context) error {
	res, err := c.Client.ApiVersions(ctx, &kafkago.ApiVersionsRequest{Addr: c.Addr})
	if err == nil {
		err = res.Error
	}
	if err == nil {
		return nil
	}
	return c.opts.explain(err)
}

// Explain puts err, of any request on c, into plain words.
func (c *Cluster) Explain(err error) error { return c.opts.explain(err) }

// Reconnect drops the pool, so that the next request reads the layout of the
// cluster afresh: kafka-go has no other way to ask for that. It does nothing
// within 200 ms of the last time.
func (c *Cluster) Reconnect(now time.Time) {
	c.mu.Lock()
	again := now.Sub(c.closedAt) >= closeInterval
	if again {
		c.closedAt = now
	}
	c.mu.Unlock()
	if again {
		c.Transport.CloseIdleConnections()
	}
}

// Close ends the idle connections; those in use end with their request.
func (c *Cluster) Close() { c.Transport.CloseIdleConnections() }
