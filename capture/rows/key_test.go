package rows

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// The texts of integers are in their order.
func TestOrdered(t *testing.T) {
	numbers := []int64{math.MinInt64, math.MinInt64 + 1, -100, -10, -9, -1, 0, 1, 9, 10, 100, math.MaxInt64 - 1, math.MaxInt64}
	var texts []string
	for _, n := range numbers {
		texts = append(texts, ordered(n))
	}
	if !slices.IsSorted(texts) || len(slices.Compact(slices.Clone(texts))) != len(numbers) {
		t.Errorf("%q", texts)
	}
}

type text7 struct{}

func (text7) String() string { return "7" }

// A key is the same text however the program holds it.
func TestKeyText(t *testing.T) {
	n, s := 7, "7"
	for _, key := range []any{7, int64(7), uint8(7), "7", []byte("7"), text7{}, &n, &s} {
		if got := keyText(key); got != "7" {
			t.Errorf("%T: %q", key, got)
		}
	}
	if got := keyText([16]byte{0x12, 15: 0xff}); got != "12000000-0000-0000-0000-0000000000ff" {
		t.Errorf("a UUID: %q", got)
	}
}

// What a program gives to a write and what it gets by a read are the same value.
func TestValueOf(t *testing.T) {
	n, s, at := 7, sql.NullString{String: "x", Valid: true}, time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC)
	p := &n
	one := Table{Columns: []string{"a"}}
	for _, c := range []struct{ value, want any }{
		{&n, 7}, {&p, 7}, {(*int)(nil), nil}, {nil, nil}, {&s, s}, {&at, at.Truncate(time.Microsecond)},
	} {
		if got := one.valueOf([]any{c.value}); got != c.want {
			t.Errorf("%v: %v, want %v", c.value, got, c.want)
		}
	}
	two := Table{Columns: []string{"a", "b"}}
	if got := fmt.Sprint(two.valueOf([]any{&n, nil})); got != "map[a:7 b:<nil>]" {
		t.Error(got)
	}
}

// In a row of several columns a value counts as it does alone, whatever type holds it.
func TestValueInRow(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	table := Table{Columns: []string{"n", "text", "at", "none"}}
	want := `{"at":"2026-01-02T03:04:05.000006Z","n":7,"none":null,"text":"x"}`
	for _, columns := range [][]any{
		{7, "x", at, nil},
		{int64(7), []byte("x"), at.In(time.FixedZone("", 7200)), []byte(nil)},
		{&sql.NullInt64{Int64: 7, Valid: true}, &sql.NullString{String: "x", Valid: true}, &sql.NullTime{Time: at, Valid: true}, &sql.NullBool{}},
	} {
		if got, err := json.Marshal(table.valueOf(columns)); err != nil || string(got) != want {
			t.Errorf("%v: %s, %v, want %s", columns, got, err, want)
		}
	}
}

// The statements of each dialect, as text.
func TestTexts(t *testing.T) {
	table := Table{Name: "stock", Key: "id", Columns: []string{"n", "place"}, Version: "version", Ranges: ByBytes}
	args := []any{1, 2, 3, "v"}
	for _, c := range []struct {
		dialect Dialect
		text    func(t *Table) *text
		want    string
	}{
		{MySQL, func(t *Table) *text { return t.insertText(args) }, "INSERT INTO stock (id, n, place, version) VALUES (?, ?, ?, ?)"},
		{MySQL, func(t *Table) *text { return t.updateText(args) }, "UPDATE stock SET n = ?, place = ?, version = ? WHERE id = ?"},
		{MySQL, func(t *Table) *text { return t.putText(args) }, "INSERT INTO stock (id, n, place, version) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE n = VALUES(n), place = VALUES(place), version = VALUES(version)"},
		{MySQL, func(t *Table) *text { return t.rangeText(Span{From: "a", To: "b"}) }, "SELECT id, n, place, CAST(id AS CHAR) AS isowatch_key, version FROM stock WHERE BINARY id >= ? AND BINARY id < ? ORDER BY BINARY id"},
		{SQLite, func(t *Table) *text { return t.putText(args) }, "INSERT INTO stock (id, n, place, version) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET n = excluded.n, place = excluded.place, version = excluded.version"},
		{SQLite, func(t *Table) *text { return t.rangeText(Span{To: "b", Desc: true, Limit: 3}) }, "SELECT id, n, place, CAST(id AS TEXT) AS isowatch_key, version FROM stock WHERE id < ? ORDER BY id DESC LIMIT 3"},
		{PostgreSQL, func(t *Table) *text { return t.insertText(args) }, "INSERT INTO stock (id, n, place, version) VALUES ($1, $2, $3, $4) RETURNING version::text"},
		{PostgreSQL, func(t *Table) *text { return t.updateText(args) }, "UPDATE stock AS isowatch_new SET n = $2, place = $3, version = $4 FROM (SELECT id AS isowatch_key, version::text AS isowatch_version FROM stock WHERE id = $1 FOR NO KEY UPDATE) isowatch_old WHERE isowatch_new.id = isowatch_key RETURNING isowatch_new.version::text, isowatch_version"},
		{PostgreSQL, func(t *Table) *text { return t.rangeText(Span{From: "a"}) }, `SELECT id, n, place, id::text AS isowatch_key, version::text FROM stock WHERE id COLLATE "C" >= $1 ORDER BY id COLLATE "C"`},
	} {
		table.Dialect = c.dialect
		if got := c.text(&table).String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
