package target

import (
	"context"
	"strings"

	"github.com/isowatch/isowatch/probe/postgres"
)

func openPostgres(ctx context.Context, url string, o Options) (*Target, error) {
	db, err := postgres.Open(url, postgres.Options{Schema: o.Schema, Isolation: levels[words(o.Isolation)]})
	if err != nil {
		return nil, err
	}
	t := &Target{Database: db, Product: "postgresql", Isolation: words(o.Isolation), close: db.Close}
	err = db.DB.QueryRowContext(ctx, "SHOW server_version").Scan(&t.Version)
	if err == nil && t.Isolation == "" {
		err = db.DB.QueryRowContext(ctx, "SHOW default_transaction_isolation").Scan(&t.Isolation)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	t.Isolation = strings.ToLower(t.Isolation)
	t.Setting = setting(t.Isolation)
	return t, nil
}
