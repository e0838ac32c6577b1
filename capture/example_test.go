package capture_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"modernc.org/sqlite"

	"github.com/isowatch/isowatch/capture"
)

// A service records what it does to the accounts: beside each statement stands what was
// sent and answered.
func Example() {
	secret := []byte("the same in all processes")
	recorder, err := capture.New(capture.Writer(io.Discard), "bank", capture.WithKey(secret))
	if err != nil {
		fmt.Println(err)
		return
	}
	worker := recorder.Session("worker") // one goroutine

	txn := recorder.Begin(capture.Begin{Session: worker, Isolation: "repeatable read", Name: "pay"})
	// SELECT balance, xmin FROM accounts WHERE id = 421
	txn.Read("accounts/421", 100, capture.Version(7001))
	// UPDATE accounts SET balance = 70 WHERE id = 421 RETURNING xmin
	txn.Write("accounts/421", 70, capture.Version(7005), capture.PrevVersion(7001))
	// COMMIT
	txn.End(capture.Committed)

	if err := recorder.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(recorder.Stats().Delivered, "record,", recorder.Stats().Dropped(), "dropped")
	// Output: 1 record, 0 dropped
}

// Each request is one client, which does one thing after the other.
func ExampleWithSession() {
	recorder, err := capture.New(capture.Writer(io.Discard), "shop", capture.WithPlainValues())
	if err != nil {
		fmt.Println(err)
		return
	}
	http.HandleFunc("/", func(_ http.ResponseWriter, req *http.Request) {
		ctx := capture.WithSession(req.Context(), recorder.Session("request"))
		// further down, where only the context is known:
		txn := recorder.Begin(capture.Begin{Session: recorder.SessionFrom(ctx)})
		txn.End(capture.Committed)
	})
}

// The id that a finding names stands in the log, beside what the service knows of the transaction.
func ExampleWithBegin() {
	var records bytes.Buffer
	recorder, err := capture.New(capture.Writer(&records), "shop", capture.WithPlainValues())
	if err != nil {
		fmt.Println(err)
		return
	}
	db := sql.OpenDB(capture.Connector(capture.DSN(&sqlite.Driver{}, ":memory:"), recorder))
	defer db.Close()

	ctx := capture.WithBegin(context.Background(), capture.Begin{Name: "checkout"})
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	id := capture.Of(ctx, tx).ID() // with pgx: capturepgx.Of(tx).ID()
	if err := errors.Join(tx.Commit(), recorder.Close(ctx)); err != nil {
		fmt.Println(err)
	}
	fmt.Println("the record has the id that is logged:", strings.Contains(records.String(), `"txn":"`+id+`"`))
	fmt.Println("and the name:", strings.Contains(records.String(), `"name":"checkout"`))
	// Output:
	// the record has the id that is logged: true
	// and the name: true
}
