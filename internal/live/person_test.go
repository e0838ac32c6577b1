//go:build integration

package live

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
)

// person is a session with a connection of its own, stepped by hand.
type person struct {
	ctx      context.Context
	of       *stepped
	conn     *sql.Conn
	level    sql.IsolationLevel
	table    string
	numbered bool // parameters are $1, $2
	name     string
	seq      int64
}

// deal is a transaction of a person.
type deal struct {
	*person
	tx  *sql.Tx
	r   event.Record
	saw map[string]string // the latest value read, by key
	put map[string]string // and written
}

func (p *person) begin(setup ...string) *deal {
	p.of.ids++
	p.seq++
	x := &deal{person: p, saw: map[string]string{}, put: map[string]string{}}
	x.r = event.Record{
		ID: fmt.Sprintf("t%d", p.of.ids), Session: p.name, Seq: p.seq, Start: time.Now().UnixNano(), Flags: event.HasTimes | event.HasSeq,
	}
	x.tx = must(p.conn.BeginTx(p.ctx, &sql.TxOptions{Isolation: p.level}))
	for _, statement := range setup {
		must(x.tx.ExecContext(p.ctx, statement))
	}
	return x
}

// sql is a statement on the table.
func (p *person) sql(text string) string {
	if !p.numbered {
		text = strings.NewReplacer("$1", "?", "$2", "?").Replace(text)
	}
	return strings.ReplaceAll(text, "steps", p.table)
}

func (x *deal) read(key string) string {
	var v int64
	must(0, x.tx.QueryRowContext(x.ctx, x.sql("SELECT v FROM steps WHERE k = $1"), key).Scan(&v))
	x.saw[key] = fmt.Sprint(v)
	x.r.Ops = append(x.r.Ops, event.RecordOp{Kind: event.Read, Key: key, Value: x.saw[key]})
	return x.saw[key]
}

func (x *deal) write(key string) string { return x.change("UPDATE steps SET v = $1 WHERE k = $2", key) }
func (x *deal) insert(key string) string {
	return x.change("INSERT INTO steps (v, k) VALUES ($1, $2)", key)
}

func (x *deal) change(statement, key string) string {
	x.of.values++
	must(x.tx.ExecContext(x.ctx, x.sql(statement), x.of.values, key))
	x.put[key] = fmt.Sprint(x.of.values)
	x.r.Ops = append(x.r.Ops, event.RecordOp{Kind: event.Write, Key: key, Value: x.put[key]})
	return x.put[key]
}

// commit ends it, and returns its id.
func (x *deal) commit() string {
	must(0, x.tx.Commit())
	return x.emit(event.Committed)
}

func (x *deal) rollback() string {
	must(0, x.tx.Rollback())
	return x.emit(event.Aborted)
}

func (x *deal) emit(status event.Status) string {
	x.r.Status, x.r.End = status, time.Now().UnixNano()
	x.of.file.keep(x.r)
	for _, name := range []string{x.of.source(), x.of.strongerSource()} {
		x.r.Source = name
		x.of.publisher.publish(name, event.AppendJSON(nil, &x.r))
	}
	return x.r.ID
}

// looks reads without a record.
func (p *person) looks(key string) string {
	var v int64
	must(0, p.conn.QueryRowContext(p.ctx, p.sql("SELECT v FROM steps WHERE k = $1"), key).Scan(&v))
	return fmt.Sprint(v)
}

// await returns once the replica shows a row.
func (p *person) await(key string) {
	retryUntil(p.ctx, "the replica does not follow", func() bool {
		var n int
		must(0, p.conn.QueryRowContext(p.ctx, p.sql("SELECT count(*) FROM steps WHERE k = $1"), key).Scan(&n))
		return n > 0
	})
}
