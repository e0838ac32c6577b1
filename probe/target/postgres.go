package target

import (
	"context"

	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/postgres"
)

func openPostgres(ctx context.Context, url string, o Options) (*Target, error) {
	options := postgresOptions(o)
	e, err := postgres.OpenEpoch(ctx, url, options)
	if err != nil {
		return nil, err
	}
	t := &Target{
		Database: e, Product: e.Product, Version: e.Version, Setting: setting(e.Isolation), Isolation: e.Isolation, close: e.Close,
	}
	err = t.addEndpoints(e.Name, o, func(url string) (other, error) {
		e, err := postgres.OpenEndpoint(ctx, url, options)
		if err != nil {
			return other{}, err
		}
		return other{probe.Endpoint{Database: e.SQL, Name: e.Name}, e.Product, e.Replica, e.Close}, nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func postgresOptions(o Options) postgres.EpochOptions {
	return postgres.EpochOptions{
		Epoch: o.Epoch, Schema: o.Schema, Isolation: words(o.Isolation), Password: o.Password, Timeout: o.Timeout, Connections: o.Sessions,
	}
}
