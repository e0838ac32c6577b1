package target

import (
	"context"

	"github.com/isowatch/isowatch/probe/postgres"
)

func openPostgres(ctx context.Context, url string, o Options) (*Target, error) {
	e, err := postgres.OpenEpoch(ctx, url, postgres.EpochOptions{
		Epoch: o.Epoch, Schema: o.Schema, Isolation: words(o.Isolation), Password: o.Password, Timeout: o.Timeout, Connections: o.Sessions,
	})
	if err != nil {
		return nil, err
	}
	return &Target{
		Database: e, Product: e.Product, Version: e.Version, Setting: setting(e.Isolation), Isolation: e.Isolation, close: e.Close,
	}, nil
}
