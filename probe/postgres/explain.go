package postgres

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/isowatch/isowatch/probe/epoch"
)

// SQLSTATEs that can be explained better than the server does.
const (
	featureNotSupported   = "0A000"
	insufficientPrivilege = "42501"
	readOnlyTransaction   = "25006"
)

// errURL has no part of the URL: it may hold a password.
var errURL = errors.New("the URL cannot be read: want postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=require, with special characters of the password as %40 for @")

// unread is why a URL could not be read. pgx's errors about TLS name files, and no other part
// of the URL.
func unread(err error) error {
	if why := errors.Unwrap(err); why != nil && strings.Contains(err.Error(), "failed to configure TLS") {
		return fmt.Errorf("the options of the URL for TLS: %w", why)
	}
	return errURL
}

// explain is one sentence of err, without the password of config.
func explain(err error, config *pgx.ConnConfig, schema string) error {
	var refused *pgconn.PgError
	var name *net.DNSError
	var dial *net.OpError
	text := err.Error()
	why, untrusted := epoch.Refused(err, "name the file with its authority's certificate as sslrootcert in the URL")
	switch {
	case untrusted:
		text = why
	case errors.As(err, &refused) && refused.Code == insufficientPrivilege:
		text = fmt.Sprintf("%s: the user needs the right to create the schema %q, or the rights USAGE and CREATE on it", refused.Message, schema)
	case errors.As(err, &refused) && refused.Code == readOnlyTransaction:
		return errReadOnly
	case refused != nil:
		text = refused.Message
	case strings.Contains(text, "server refused TLS"):
		text = "the server offers no TLS; where that is right, add sslmode=disable to the URL"
	case strings.Contains(text, "tls: ") || strings.Contains(text, "x509: "):
		text = "the TLS connection fails: " + text
	case errors.As(err, &name):
		text = name.Error()
	case errors.As(err, &dial):
		text = dial.Error()
	}
	return errors.New(strings.Join(strings.Fields(epoch.Mask(text, config.Password)), " "))
}
