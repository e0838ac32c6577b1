package mysql

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/isowatch/isowatch/probe/epoch"
)

// Numbers of errors that can be explained better than the server does.
const (
	deniedDatabase = 1044 // ER_DBACCESS_DENIED_ERROR
	deniedTable    = 1142 // ER_TABLEACCESS_DENIED_ERROR
	readOnly       = 1290 // ER_OPTION_PREVENTS_STATEMENT
)

// explain is one sentence of err, without the password.
func explain(err error, config *mysql.Config, schema string) error {
	var refused *mysql.MySQLError
	var dial *net.OpError
	text := err.Error()
	why, untrusted := epoch.Refused(err, "add its authority's certificate to the system's, or name its file in the variable SSL_CERT_FILE")
	switch {
	case untrusted:
		text = why
	case errors.As(err, &refused) && (refused.Number == deniedDatabase || refused.Number == deniedTable):
		text = fmt.Sprintf("%s: the user needs all rights on the schema %q", refused.Message, schema)
	case errors.As(err, &refused) && refused.Number == readOnly:
		return errReadOnly
	case refused != nil:
		text = refused.Message
	case errors.Is(err, mysql.ErrNoTLS):
		text = "the server offers no TLS; where that is right, leave tls out of the URL"
	case strings.Contains(text, "tls: ") || strings.Contains(text, "x509: "):
		text = "the TLS connection fails: " + text
	case errors.As(err, &dial):
		text = dial.Error()
	}
	return errors.New(strings.Join(strings.Fields(epoch.Mask(text, config.Passwd)), " "))
}
