package target

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/probe"
)

// other is a further server of a database.
type other struct {
	probe.Endpoint
	product string
	replica bool
	close   func() error
}

// addEndpoints opens the other servers. primary is the name of the first one. When one
// cannot be opened, all is closed.
func (t *Target) addEndpoints(primary string, o Options, open func(url string) (other, error)) (err error) {
	if len(o.Endpoints) == 0 {
		return nil
	}
	t.endpoints = []probe.Endpoint{{Database: t.Database, Name: primary, Stale: o.Stale}}
	ends := []func() error{t.close} // the other way around
	t.close = func() error {
		var all error
		for i := len(ends) - 1; i >= 0; i-- {
			all = errors.Join(all, ends[i]())
		}
		return all
	}
	for _, url := range o.Endpoints {
		e, err := open(url)
		if err == nil {
			ends = append(ends, e.close)
			if e.product != t.Product {
				err = fmt.Errorf("it is %s, and the database is %s", e.product, t.Product)
			}
		}
		if err != nil {
			_ = t.close() // what matters is why
			return fmt.Errorf("the endpoint %s: %w", Redact(url), err)
		}
		e.Stale = o.Stale
		t.Replicas = t.Replicas || e.replica
		t.endpoints = append(t.endpoints, e.Endpoint)
	}
	return nil
}

// Endpoints implements [probe.Replicated].
func (t *Target) Endpoints() []probe.Endpoint {
	if len(t.endpoints) == 0 {
		return []probe.Endpoint{{Database: t.Database}}
	}
	return t.endpoints
}

// Reset implements [probe.Database]. An endpoint that does not show the new tables soon belongs
// to another database. Or it is a replica too far behind to learn anything from.
func (t *Target) Reset(ctx context.Context) error {
	if err := t.Database.Reset(ctx); err != nil {
		return err
	}
	for _, e := range t.others() {
		if err := e.AwaitTables(ctx); err != nil {
			return fmt.Errorf("the endpoint %s does not show the probe's new tables within %v: it is another database, or a replica that is too far behind (%s)",
				e.Name, probe.TablesWait, strings.Join(strings.Fields(err.Error()), " "))
		}
	}
	return nil
}

// others are the endpoints without the database itself.
func (t *Target) others() []probe.Endpoint { return t.endpoints[min(1, len(t.endpoints)):] }

// fits refuses endpoints that are not a server of the database's kind. It refuses every
// endpoint where the database has one server.
func fits(url string, endpoints []string) error {
	kind := kindOf(url)
	for _, e := range endpoints {
		switch other := kindOf(e); {
		case kind != "postgres" && kind != "mysql":
			return errors.New("only postgres:// and mysql:// have other endpoints")
		case other == "":
			return fmt.Errorf("the endpoint %q is not a URL: want %s://USER@HOST", Redact(e), kind)
		case other != kind:
			return fmt.Errorf("the endpoint %s is another kind of database: want %s://, as the URL of the database", Redact(e), kind)
		}
	}
	return nil
}

// kindOf is the scheme of a URL, of those for one kind of database the first.
func kindOf(url string) string {
	switch s := scheme(url); s {
	case "postgresql":
		return "postgres"
	case "mariadb":
		return "mysql"
	default:
		return s
	}
}
