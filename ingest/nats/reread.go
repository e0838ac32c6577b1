package nats

import (
	"context"
	"fmt"

	"github.com/isowatch/isowatch/ingest"
)

var _ ingest.Rereader = (*Source)(nil)

// Reread implements [ingest.Rereader].
func (s *Source) Reread(ctx context.Context, partition string, offset int64) ([]byte, error) {
	if partition != s.opts.partition() || offset <= 0 {
		return nil, ingest.ErrNotHere
	}
	stream, err := s.js.Stream(ctx, s.opts.Stream)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", s.opts.Stream, err)
	}
	m, err := stream.GetMsg(ctx, uint64(offset))
	if err != nil {
		return nil, fmt.Errorf("stream %s, message %d: %w", s.opts.Stream, offset, err)
	}
	return m.Data, nil
}
