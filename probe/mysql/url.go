package mysql

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// errURL has no part of the URL: it may hold a password.
var errURL = errors.New("the URL cannot be read: want mysql://USER:PASSWORD@HOST:3306/?tls=true, with special characters of the password as %40 for @")

// parseURL reads mysql://USER:PASSWORD@HOST:PORT/DATABASE?OPTIONS, with the options of the
// driver (tls, charset and others), and socket=PATH for a socket in place of the host.
func parseURL(text string) (*mysql.Config, error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return nil, errURL
	}
	query := u.Query()
	network, address := "tcp", u.Host
	if socket := query.Get("socket"); socket != "" {
		network, address = "unix", socket
		query.Del("socket")
	} else if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "3306")
	}
	if u.Hostname() == "" && network == "tcp" {
		return nil, errURL
	}
	name := network + "(" + address + ")/"
	if len(query) > 0 {
		name += "?" + query.Encode()
	}
	config, err := mysql.ParseDSN(name)
	if err != nil {
		return nil, errors.New("the options of the URL cannot be read: " + strings.ReplaceAll(err.Error(), name, "..."))
	}
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.TrimPrefix(u.Path, "/")
	return config, nil
}
