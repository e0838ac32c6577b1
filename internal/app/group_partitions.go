package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/isowatch/isowatch/ingest/kafka"
	"github.com/isowatch/isowatch/internal/config"
)

// followPartitions makes a unit of each partition, for topics that are divided by partition. It looks
// for new ones as an input does.
func (g *Group) followPartitions(ctx context.Context) {
	told := ""
	for {
		err := g.lookAtPartitions(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			g.log.Warn("the partitions of topics are not known", "err", err)
		}
		if err == nil {
			told = ""
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(kafka.DefaultDiscover):
		}
	}
}

func (g *Group) lookAtPartitions(ctx context.Context) error {
	var names []string
	var faults []error
	for _, k := range g.config.Partitioned() {
		found, err := kafka.Partitions(ctx, kafkaBroker(k), k.Topics)
		faults = append(faults, err)
		for topic, n := range found {
			for p := range n {
				names = append(names, config.PartitionUnit(topic, p))
			}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(g.units, name) })
	if len(names) > 0 {
		slices.Sort(names)
		g.units = append(g.units, names...)
		g.member.SetUnits(names)
		g.log.Info("the group has more units: partitions", "partitions", len(names))
	}
	return errors.Join(faults...)
}
