package capture_test

import (
	"context"
	"fmt"
	"os"

	"github.com/isowatch/isowatch/capture"
)

// A service records what it does to the accounts. Where it talks to its database,
// each answer is told too.
func Example() {
	recorder, err := capture.New(capture.Writer(os.Stdout), "bank", capture.WithKey([]byte("sixteen or more secret bytes")))
	if err != nil {
		fmt.Println(err)
		return
	}
	session := recorder.Session("worker-1")

	txn := recorder.Begin(capture.Begin{Session: session, Isolation: "repeatable read", Name: "pay"})
	// SELECT balance, xmin FROM accounts WHERE id = 421
	txn.Read("accounts/421", 100, capture.Version(7001))
	// UPDATE accounts SET balance = 70 WHERE id = 421 RETURNING xmin
	txn.Write("accounts/421", 70, capture.Version(7005), capture.PrevVersion(7001))
	// COMMIT
	txn.End(capture.Committed)

	if err := recorder.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(recorder.Stats().Delivered)
}
