package target

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/isowatch/isowatch/probe/sqlite"
)

func openSQLite(ctx context.Context, url string, o Options) (*Target, error) {
	file, err := sqliteFile(url)
	if err != nil {
		return nil, err
	}
	if w := words(o.Isolation); w != "" && w != "serializable" {
		return nil, fmt.Errorf("SQLite has no isolation level %q: want serializable", o.Isolation)
	}
	e, err := sqlite.OpenEpoch(ctx, file, o.Epoch)
	if err != nil {
		return nil, err
	}
	t := &Target{Database: e, Product: "sqlite", Setting: "serializable", Isolation: "serializable", close: e.Close}
	if err := e.DB.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&t.Version); err != nil {
		e.Close()
		return nil, err
	}
	return t, nil
}

// sqliteFile is the file of a URL.
func sqliteFile(target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", fmt.Errorf("the URL %q cannot be read: want sqlite:///FILE", target)
	}
	file := strings.TrimPrefix(u.Path, "/")
	if u.Host != "" || file == "" || u.RawQuery != "" {
		return "", fmt.Errorf("the URL %q names no file: want sqlite:///FILE, with a fourth slash where the path is absolute", target)
	}
	return file, nil
}
