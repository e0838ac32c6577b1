package capture

import (
	"context"
	"database/sql/driver"
)

// DSN is a connector of a driver and a data source name, as sql.Open makes it. It is for
// drivers that offer no connector themselves.
//
//	db := sql.OpenDB(capture.Connector(capture.DSN(&sqlite.Driver{}, "orders.db"), recorder))
func DSN(d driver.Driver, name string) driver.Connector { return dsn{d, name} }

type dsn struct {
	driver driver.Driver
	name   string
}

// Connect implements [driver.Connector].
func (d dsn) Connect(ctx context.Context) (driver.Conn, error) {
	if c, ok := d.driver.(driver.DriverContext); ok {
		connector, err := c.OpenConnector(d.name)
		if err != nil {
			return nil, err
		}
		return connector.Connect(ctx)
	}
	return d.driver.Open(d.name)
}

// Driver implements [driver.Connector].
func (d dsn) Driver() driver.Driver { return d.driver }
