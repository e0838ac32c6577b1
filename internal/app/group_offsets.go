package app

import (
	"context"
	"time"

	"github.com/isowatch/isowatch/ingest/kafka"
	"github.com/isowatch/isowatch/internal/config"
)

// offsetsEvery is the time between two commits of positions.
const offsetsEvery = 5 * time.Second

// followOffsets commits the positions of a unit of Kafka to a consumer group until ctx ends. By these,
// tools show the unit's lag. A unit has one input.
func (u *unit) followOffsets(ctx context.Context, a *App, settings *config.Service) {
	in := settings.AllInputs()
	if len(in) != 1 || in[0].Kafka == nil {
		return
	}
	o, err := kafka.NewOffsets(kafkaBroker(in[0].Kafka), in[0].Kafka.Topics, "isowatch-"+u.g.config.Group.Name)
	if err != nil {
		u.log.Warn("no positions are committed to a consumer group", "err", err)
		return
	}
	defer o.Close()
	told := false
	for last := false; ; {
		next := map[string]int64{}
		for _, c := range a.Status().Cursors {
			next[c.Partition] = c.Next
		}
		committing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		if u.may(0) == 0 { // another member may tell of the unit by now
			err = nil
		} else if err = o.Commit(committing, next); err != nil && !told && !last {
			u.log.Warn("positions cannot be committed to a consumer group: tools show no lag", "err", err)
		}
		cancel()
		told = err != nil
		if last {
			return
		}
		select {
		case <-ctx.Done():
			last = true
		case <-time.After(offsetsEvery):
		}
	}
}
