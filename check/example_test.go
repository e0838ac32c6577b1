package check_test

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/check"
	"github.com/isowatch/isowatch/event"
)

// Two doctors go off call at the same time. Each saw that the other one was on call: write skew,
// which snapshot isolation allows and serializable does not.
func ExampleHistory() {
	read := func(key, value string) event.RecordOp {
		return event.RecordOp{Kind: event.Read, Key: key, Value: value}
	}
	write := func(key, value string) event.RecordOp {
		return event.RecordOp{Kind: event.Write, Key: key, Value: value}
	}
	records := []event.Record{
		{ID: "begin", Status: event.Committed, Ops: []event.RecordOp{write("alice", `"on"`), write("bob", `"on too"`)}},
		{ID: "alice-leaves", Status: event.Committed, Ops: []event.RecordOp{
			read("alice", `"on"`), read("bob", `"on too"`), write("alice", `"off"`),
		}},
		{ID: "bob-leaves", Status: event.Committed, Ops: []event.RecordOp{
			read("alice", `"on"`), read("bob", `"on too"`), write("bob", `"off too"`),
		}},
	}
	result, err := check.History(records, check.Levels(check.SnapshotIsolation, check.Serializable))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(result)
	// Output:
	// records: 3 transactions, 8 operations
	//   snapshot-isolation  ok
	//   serializable        VIOLATED
	//
	// VIOLATED  write skew (G2-item)  default  finding 42ebb60aadb6be03f82ea43b revision 1
	//   bob-leaves and alice-leaves each changed what the other one had read: alice, bob.
	//   Each transaction is right by itself, and together they may break a rule: a room booked twice, an account overdrawn.
	//   Likely causes:
	//     - postgresql/repeatable-read, mariadb/snapshot-isolation, yugabytedb/repeatable-read, tidb/optimistic, mongodb/snapshot and spanner/repeatable-read: this is snapshot isolation, which allows it.
	//     - An operation that ran outside of its transaction: on another connection, on a replica, or in autocommit.
	//     - PostgreSQL, MySQL, MariaDB, CockroachDB, YugabyteDB and TiDB at read committed: nothing that was read is compared at the commit.
	//     - MySQL, MariaDB and TiDB at repeatable read: plain reads take no locks.
	//     - postgresql/serializable: only serializable transactions are tracked. A transaction at a weaker level takes part unseen.
	//   What to do:
	//     1. Find the transactions by their ids in your own logs.
	//     2. Does the level allow it? If you cannot live with it, use a setting that forbids it: monitor explain G2-item names them.
	//     3. PostgreSQL, MySQL, MariaDB, CockroachDB, YugabyteDB and TiDB: or lock what you read (SELECT ... FOR UPDATE).
	//   Refutes repeatable-read and update-serializable, and with them 7 stronger levels.
	//   bob-leaves -rw alice-> alice-leaves -rw bob-> bob-leaves
	//   Let:
	//     bob-leaves = r alice "on", r bob "on too", w bob "off too"
	//     alice-leaves = r alice "on", r bob "on too", w alice "off"
	//   Then:
	//     - bob-leaves < alice-leaves, because bob-leaves read alice = "on", which alice-leaves overwrote with "off".
	//     - However, alice-leaves < bob-leaves, because alice-leaves read bob = "on too", which bob-leaves overwrote with "off too": a contradiction!
	//   From records:2 to records:3
}

// What another program wrote is read as it is. A read of 7 names the transaction that wrote 7.
func ExampleReader() {
	const history = `
{"txn":"1","session":"a","seq":1,"status":"committed","ops":[{"op":"r","key":"x","value":null},{"op":"w","key":"x","value":7}]}
{"txn":"2","session":"b","seq":1,"status":"unknown","ops":[{"op":"r","key":"x","value":7},{"op":"w","key":"x","value":8}]}
{"txn":"3","session":"a","seq":2,"status":"committed","ops":[{"op":"r","key":"x","value":8}]}
`
	result, err := check.Reader(strings.NewReader(history), check.Expect("postgresql/serializable"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Verdict())
	for _, level := range result.Levels {
		fmt.Println(level.Name, level.Verdict)
	}
	// Output:
	// ok
	// strong-session-serializable ok
}
