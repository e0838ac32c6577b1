package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/config"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/internal/group/store/file"
	groupnats "github.com/isowatch/isowatch/internal/group/store/nats"
	"github.com/isowatch/isowatch/internal/group/store/s3"
)

// openGroupStore opens the store of a group by its URL. The login of an input that names the same NATS server counts for it
// too. create: a bucket of NATS is made if it is not there.
func openGroupStore(ctx context.Context, state string, inputs []config.PlacedInput, create bool, log *slog.Logger) (groupstore.Store, error) {
	u, err := url.Parse(state)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "file":
		return file.Open(u)
	case "s3":
		return s3.Open(ctx, u, os.LookupEnv)
	}
	place, err := groupnats.PlaceOf(u)
	if err != nil {
		return nil, err
	}
	o := brokernats.Options{}
	for _, in := range inputs {
		if in.NATS == nil {
			continue
		}
		for _, other := range in.NATS.URLs {
			if slices.Contains(place.Hosts, strings.TrimPrefix(other, "nats://")) {
				o = natsBroker(in.NATS)
			}
		}
	}
	o.URLs, o.Name, o.Logger = place.Servers, "isowatch-group", log.With("of", "the group's store")
	var reason atomic.Value // error: why no server has let us in so far
	o.Failed = func(err error) { reason.Store(fmt.Errorf("%w", err)) }
	conn, err := brokernats.Connect(o)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	if !create {
		place.Replicas = 0
	}
	if err := connected(ctx, conn, create); err != nil {
		conn.Close()
		if why, ok := reason.Load().(error); ok {
			err = why
		}
		return nil, fmt.Errorf(
			"no server of the group's store answers at %s: %w. Check the addresses in --group-state, and that the servers run",
			strings.Join(place.Hosts, ", "),
			err,
		)
	}
	s, err := groupnats.Open(ctx, js, place.Bucket, place.Replicas, conn.Close)
	if err != nil {
		conn.Close()
		return nil, err
	}
	if has := s.Replicas(); create && place.Asked && has > 0 && has != place.Replicas {
		log.Warn("the bucket of the group's store has another number of copies than --group-state asks for: a bucket that is there stays as it is. nats stream edit changes it",
			"bucket", place.Bucket, "copies", has, "asked", place.Replicas, "stream", "KV_"+place.Bucket)
	}
	return s, nil
}

// How long a member that starts, and a reader, wait for a server of the group's store.
const (
	storeWait  = 25 * time.Second // its caller gives up after 30 s
	readerWait = 5 * time.Second
)

// connected waits until a server has let us in.
func connected(ctx context.Context, conn *nats.Conn, member bool) error {
	most := readerWait
	if member {
		most = storeWait
	}
	const pause = 20 * time.Millisecond
	for began := time.Now(); !conn.IsConnected(); {
		if time.Since(began) >= most {
			return fmt.Errorf("no answer within %v", most)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	return nil
}
