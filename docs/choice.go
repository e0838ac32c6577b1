package docs

import "strings"

// choice is how a product is told the setting of a transaction.
type choice struct {
	product string // as it writes itself
	chosen  string // what can choose a weaker one
	asked   string // how to see which one it was
}

// choices are the choices of the products of package isolation. The probe asks for the
// variables (probe/postgres, probe/mysql); the others are from docs/databases.md.
var choices = map[string]choice{
	"postgresql": {
		"PostgreSQL",
		"default_transaction_isolation, SET TRANSACTION, a driver, a pool or an ORM can choose it",
		"Ask on a connection of the application: SHOW transaction_isolation",
	},
	"mysql": {
		"MySQL",
		"transaction_isolation, SET TRANSACTION, a driver, a pool or an ORM can choose it",
		"Ask on a connection of the application: SELECT @@transaction_isolation",
	},
	"mariadb": {
		"MariaDB",
		"The server's option, SET TRANSACTION, innodb_snapshot_isolation, a driver, a pool or an ORM can choose it",
		"Ask on a connection of the application: SHOW VARIABLES LIKE '%isolation%'",
	},
	"sqlite": {"SQLite", "PRAGMA read_uncommitted chooses it, on connections that share a cache", "Ask on a connection of the application: PRAGMA read_uncommitted"},
	"cockroachdb": {
		"CockroachDB",
		"default_transaction_isolation, SET TRANSACTION, a driver, a pool or an ORM can choose it",
		"Ask on a connection of the application: SHOW transaction_isolation",
	},
	"yugabytedb": {
		"YugabyteDB",
		"default_transaction_isolation, SET TRANSACTION, a driver, a pool or an ORM can choose it",
		"Ask on a connection of the application: SHOW transaction_isolation",
	},
	"tidb": {
		"TiDB",
		"transaction_isolation, tidb_txn_mode, SET TRANSACTION, a driver, a pool or an ORM can choose it",
		"Ask on a connection of the application: SELECT @@transaction_isolation, @@tidb_txn_mode",
	},
	"mongodb": {
		"MongoDB",
		"The read and write concerns of a client, a transaction or an operation choose it",
		"Look at the read concern and the write concern that the driver sends",
	},
	"spanner":   {"Spanner", "The options of the transaction, or a stale read, choose it", "Look at the options that the client sends with the transaction"},
	"cassandra": {"Cassandra", "The consistency level of each statement chooses it", "Look at the consistency level that the driver sends with each statement"},
	"etcd":      {"etcd", "WithSerializable on a read chooses it", "Look for WithSerializable in the client"},
}

// product is how the product of that name writes itself.
func product(name string) string {
	if c, ok := choices[name]; ok {
		return c.product
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
