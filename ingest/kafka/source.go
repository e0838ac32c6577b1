package kafka

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/ingest"
	broker "github.com/isowatch/isowatch/internal/broker/kafka"
	kafkago "github.com/segmentio/kafka-go"
)

// Source reads the topics of its options. It implements ingest.Source.
type Source struct{ opts Options }

var _ ingest.Source = (*Source)(nil)

// New checks o; nothing is dialled.
func New(o Options) (*Source, error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Source{opts: o}, nil
}

// PartitionName is the name under which a partition is delivered.
func PartitionName(topic string, partition int) string {
	return "kafka:" + topic + "/" + strconv.Itoa(partition)
}

// Run reads until ctx ends. It returns an error when the first tries to reach the cluster fail
// and waiting does not help. That is so with a refused login or a certificate. Everything else
// is told as a Problem and tried again. A problem of a whole topic is told for the first of its partitions.
func (s *Source) Run(ctx context.Context, from map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	cluster, err := broker.Open(s.opts.Broker)
	if err != nil {
		return err
	}
	defer cluster.Close()
	var readers sync.WaitGroup
	defer readers.Wait()

	d := discovery{opts: s.opts, cluster: cluster, from: from, out: out, readers: &readers}
	for _, name := range s.opts.Topics {
		d.topics = append(d.topics, &topic{name: name, resumed: resumed(name, from)})
	}
	refused := 0 // permanent failures in a row, before anything worked
	for ctx.Err() == nil {
		err := d.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		wait := s.opts.Discover
		switch {
		case err == nil:
			d.reached = true
		case broker.Permanent(err) && !d.reached:
			// A broker that is just starting may not know its users yet.
			if refused++; refused == 2 {
				return err
			}
			wait = time.Second
		default:
			refused = 0
			wait = min(wait, maxBackoff)
		}
		pause(ctx, wait)
	}
	return nil
}

func resumed(topic string, from map[string]ingest.Cursor) bool {
	for name, c := range from {
		if strings.HasPrefix(name, "kafka:"+topic+"/") && c.Next >= 0 {
			return true
		}
	}
	return false
}

// discovery finds the partitions and starts their readers.
type discovery struct {
	opts    Options
	cluster *broker.Cluster
	from    map[string]ingest.Cursor
	out     chan<- ingest.Chunk
	readers *sync.WaitGroup
	topics  []*topic
	reached bool // a look has succeeded
}

type topic struct {
	name    string
	resumed bool // some partition has a cursor
	missing bool // a look found the cluster without it: all of it is newer than we are
	started int  // partitions 0 to started-1 have a reader
	trouble trouble
}

// look asks once for the partitions of all topics. An error concerns the whole cluster.
func (d *discovery) look(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	res, err := d.cluster.Client.Metadata(asking, &kafkago.MetadataRequest{Topics: d.opts.Topics})
	if err != nil {
		err = d.cluster.Explain(err)
		d.cluster.Reconnect(time.Now())
		for _, t := range d.topics {
			d.failed(ctx, t, err)
		}
		return err
	}
	for _, t := range d.topics {
		d.topic(ctx, t, res.Topics)
	}
	return nil
}

// topic starts what is new in t.
func (d *discovery) topic(ctx context.Context, t *topic, found []kafkago.Topic) {
	i := slices.IndexFunc(found, func(f kafkago.Topic) bool { return f.Name == t.name })
	switch {
	case i < 0 || found[i].Error == kafkago.UnknownTopicOrPartition:
		t.missing = true
		d.failed(ctx, t, fmt.Errorf("kafka: topic %s does not exist", t.name))
		d.cluster.Reconnect(time.Now())
		return
	case found[i].Error != nil:
		d.failed(ctx, t, fmt.Errorf("kafka: topic %s: %w", t.name, found[i].Error))
		d.cluster.Reconnect(time.Now())
		return
	}
	if t.trouble.mend() && t.started == 0 {
		d.opts.Logger.Info("topic found", "topic", t.name)
		d.tell(ctx, d.whole(t), ingest.Chunk{})
	}
	first := t.started == 0
	// All are named before the first is read, so that the watermark passes no partition
	// unknown.
	for id := t.started; id < len(found[i].Partitions); id++ {
		if d.wants(id) {
			d.tell(ctx, PartitionName(t.name, id), ingest.Chunk{})
		}
	}
	for id := t.started; id < len(found[i].Partitions); id++ {
		if d.wants(id) {
			d.start(ctx, t, id, first)
		}
	}
	t.started = max(t.started, len(found[i].Partitions))
	if first {
		d.vanished(ctx, t)
	}
}

// start runs the reader of one partition.
func (d *discovery) start(ctx context.Context, t *topic, id int, first bool) {
	r := &reader{
		log:      &partitionLog{cluster: d.cluster, topic: t.name, id: int32(id), maxWait: d.opts.MaxWait},
		name:     PartitionName(t.name, id),
		out:      d.out,
		logger:   d.opts.Logger,
		maxBytes: int32(min(d.opts.MaxBytes, math.MaxInt32)),
		last:     none(),
	}
	if first && !t.resumed && !t.missing {
		r.begin = begin{d.opts.Start, d.opts.StartTime}
	}
	if c, ok := d.from[r.name]; ok && c.Next >= 0 {
		r.resume(c)
	}
	d.opts.Logger.Debug("reads partition", "partition", r.name, "next", r.next, "resumed", r.placed)
	d.readers.Go(func() { r.run(ctx) })
}

// vanished reports partitions that have a cursor but exist no more: Kafka never
// removes a partition, so the topic was recreated with fewer.
func (d *discovery) vanished(ctx context.Context, t *topic) {
	names := make([]string, 0, len(d.from))
	for name, c := range d.from {
		rest, ok := strings.CutPrefix(name, "kafka:"+t.name+"/")
		id, err := strconv.Atoi(rest)
		if ok && err == nil && id >= t.started && c.Next >= 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		next := d.from[name].Next
		d.opts.Logger.Warn("input lost", "partition", name, "from", next, "reason", "partition no longer exists")
		gap := ingest.Gap{From: next, To: next, Reason: "the partition no longer exists: the topic was recreated with fewer"}
		d.send(ctx, ingest.Chunk{Partition: name, Cursor: ingest.Cursor{Next: unknownNext}, Gaps: []ingest.Gap{gap}, CaughtUp: true, EOF: true})
	}
}

// failed tells of a failure of t as a whole, until it has readers that tell it themselves.
func (d *discovery) failed(ctx context.Context, t *topic, err error) {
	_, text := t.trouble.fail(err, time.Now())
	if text == "" || t.started > 0 {
		return
	}
	d.opts.Logger.Warn("cannot read", "topic", t.name, "err", text)
	d.tell(ctx, d.whole(t), ingest.Chunk{Problem: text})
}

// wants says whether the partition is one of those that are read.
func (d *discovery) wants(id int) bool {
	return d.opts.Partitions == nil || slices.Contains(d.opts.Partitions, id)
}

// whole is the partition for which a problem of the whole topic is told.
func (d *discovery) whole(t *topic) string {
	if len(d.opts.Partitions) > 0 {
		return PartitionName(t.name, d.opts.Partitions[0])
	}
	return PartitionName(t.name, 0)
}

// tell sends c for a partition that has no reader yet, with its old cursor.
func (d *discovery) tell(ctx context.Context, name string, c ingest.Chunk) {
	c.Partition, c.Cursor = name, ingest.Cursor{Next: unknownNext}
	if cursor, ok := d.from[name]; ok {
		c.Cursor = cursor
	}
	d.send(ctx, c)
}

func (d *discovery) send(ctx context.Context, c ingest.Chunk) {
	select {
	case d.out <- c:
	case <-ctx.Done():
	}
}
