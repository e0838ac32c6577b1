package target

import (
	"context"
	"net/url"
	"strings"

	"github.com/isowatch/isowatch/probe/mysql"
)

func openMySQL(ctx context.Context, target string, o Options) (*Target, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, unknown(target)
	}
	password, _ := u.User.Password()
	if o.Password != "" {
		password = o.Password
	}
	db, err := mysql.Open(u.User.Username()+":"+password+"@tcp("+u.Host+")/", mysql.Options{Schema: o.Schema, Isolation: levels[words(o.Isolation)]})
	if err != nil {
		return nil, err
	}
	t := &Target{Database: db, Product: "mysql", Isolation: words(o.Isolation), close: db.Close}
	var level string
	if err := db.DB.QueryRowContext(ctx, "SELECT VERSION(), @@tx_isolation").Scan(&t.Version, &level); err != nil {
		db.Close()
		return nil, err
	}
	if strings.Contains(t.Version, "MariaDB") {
		t.Product = "mariadb"
	}
	if t.Isolation == "" {
		t.Isolation = words(level)
	}
	t.Setting = setting(t.Isolation)
	return t, nil
}
