package capture

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
)

func nested(n int) json.RawMessage {
	return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n))
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no") }

// A value that the format cannot hold drops its transaction, unless it is hashed.
func TestValues(t *testing.T) {
	var none *string
	text := "t"
	for _, c := range []struct {
		name        string
		value       any
		want        string // canonical JSON; "": there is none
		onlyHashed  bool
		alsoEqualTo any
	}{
		{"a pointer to nothing", none, "null", false, nil},
		{"a pointer", &text, `"t"`, false, "t"},
		{"a null of database/sql", sql.NullString{}, "null", false, nil},
		{"a string of database/sql", sql.NullString{String: "t", Valid: true}, `"t"`, false, "t"},
		{"bytes are text", []byte("t"), `"t"`, false, "t"},
		{"no bytes", []byte(nil), "null", false, nil},
		{"empty", "", `""`, false, []byte{}},
		{"a time in UTC", time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600)), `"2026-01-02T02:04:05.000006Z"`, false, time.Date(2026, 1, 2, 2, 4, 5, 6000, time.UTC)},
		{"one", 1, "1", false, 1.0},
		{"one as written", json.Number("1.0"), "1.0", false, json.RawMessage("1.0")},
		{"the text of one", "1", `"1"`, false, []byte("1")},
		{"small", int8(-3), "-3", false, int64(-3)},
		{"no UTF-8", "a\xffb", "\"a\ufffdffb\"", false, []byte("a\xffb")},
		{"half a pair", json.RawMessage(`"\ud800"`), "\"\ufffd\"", false, "\ufffd"},
		{"raw JSON", json.RawMessage("{\"a\" : [1, \"\\u0062\\/\"]}"), `{"a":[1,"b/"]}`, false, map[string]any{"a": []any{1, "b/"}}},
		{"a field twice", json.RawMessage(`{"a":1,"a":2}`), `{"a":1,"a":2}`, true, nil},
		{"as deep as it may be", nested(maxNested), string(nested(maxNested)), false, nil},
		{"too deep", nested(maxNested + 1), string(nested(maxNested + 1)), true, nil},
		{"not a number", math.NaN(), "", false, nil},
		{"a channel", make(chan int), "", false, nil},
		{"no JSON", json.RawMessage("{"), "", false, nil},
		{"a method that panics", panics{}, "", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkValue(t, c.value, c.want, c.onlyHashed)
			if c.alsoEqualTo != nil {
				checkValue(t, c.alsoEqualTo, c.want, c.onlyHashed)
			}
		})
	}
}

func checkValue(t *testing.T, v any, want string, onlyHashed bool) {
	t.Helper()
	write := func(r *Recorder) {
		txn := r.Begin(Begin{})
		txn.Range(Scan{}, []Row{{Key: "x", Value: v}})
		txn.Write("k", v)
		txn.End(Committed)
		if dropped := r.Stats().NoJSON; (dropped > 0) != (want == "" || onlyHashed && r.opt.PlainValues) {
			t.Errorf("%v: %d transactions dropped", v, dropped)
		}
	}
	is := func(lines, want string) {
		t.Helper()
		if want == "" {
			if !strings.Contains(lines, "capture.gap") {
				t.Errorf("%v: no gap in %s", v, lines)
			}
			decoded(t, lines)
			return
		}
		rec := one(t, lines)
		if got := rec.Ops[1].Value; got != want || rec.Ops[0].Rows[0].Value != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	plain := want
	if onlyHashed {
		plain = ""
	}
	is(recorded(t, write, WithPlainValues()), plain)
	if want != "" && want != "null" {
		want = `"` + hashed("0123456789abcdef", "bank", want) + `"`
	}
	is(recorded(t, write, WithKey([]byte("0123456789abcdef"))), want)
}

// FuzzValue compares the canonical text of JSON with that of the decoder of records.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{`1.0`, `"\u0061\/\ud83d\ude00"`, `"\ud800"`, "\"\xff\"", ` { "a" : [ 1 , {"b":null} ] , "c":"<>&\u2028" } `, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `-0.5E+10`, `[[],{}]`, `"\u0000"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var d event.Decoder
		var b event.Batch
		d.Decode(&b, event.Position{}, []byte(`{"txn":"t","status":"committed","ops":[{"op":"w","key":"k","value":`+string(raw)+`}]}`))
		text, err := appendValue(nil, json.RawMessage(raw), true)
		hashed, errHashed := appendValue(nil, json.RawMessage(raw), false)
		if len(b.Bad) > 0 { // refused there: what is recorded in its place must not be
			d.Decode(&b, event.Position{}, []byte(`{"txn":"t","status":"committed","ops":[{"op":"w","key":"k","value":`+string(text)+`}]}`))
			if err == nil && len(b.Bad) > 1 {
				t.Errorf("%q is recorded as %q: %s", raw, text, b.Bad[1].Reason)
			}
			return
		}
		if !json.Valid(raw) {
			return // more than a value: fields that follow
		}
		want := b.Text(b.Ops[0].Value)
		if errHashed != nil || string(hashed) != want {
			t.Errorf("%q is hashed as %q, want %q", raw, hashed, want)
		}
		if string(text) != want && (err == nil || errors.Is(err, errTwice)) {
			t.Errorf("%q is %q, %v, want %q", raw, text, err, want)
		}
	})
}

// What docs/capture.md says of the hash, made with Python:
//
//	k = hmac.new(b"0123456789abcdef", b"isowatch capture 1 bank", "sha256").digest()
//	base64.urlsafe_b64encode(hmac.new(k, b'"paid"', "sha256").digest()[:16])
func TestHash(t *testing.T) {
	for text, want := range map[string]string{`"paid"`: "rZ5EHXWSX2kxNvOCEj3TQA", "70": "84a0M_TtZqYQqpsIdVny8A"} {
		if got := hashed("0123456789abcdef", "bank", text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if hashed("0123456789abcdef", "other", "70") == hashed("0123456789abcdef", "bank", "70") {
		t.Error("two sources hash alike")
	}
}

// Nothing that is secret is in a record.
func TestNothingLeaks(t *testing.T) {
	lines := recorded(t, func(r *Recorder) {
		txn := r.Begin(Begin{})
		for _, tell := range []func(string, any, ...Detail){txn.Read, txn.Write, txn.Insert, txn.Append, txn.Add, txn.Remove} {
			tell("users/secret-key", "secret")
		}
		txn.CAS("users/secret-key", "secret", "secret", false, Seen("secret"))
		txn.ReadList("users/secret-key", []any{"secret"})
		txn.ReadSet("users/secret-key", []any{"secret"})
		txn.Range(Scan{From: "users/secret", To: "users0"}, []Row{{Key: "users/secret-key", Value: "secret"}})
		txn.ReadNothing("users/secret-key")
		txn.Delete("users/secret-key")
		txn.Inc("users/secret-key", 1)
		txn.ReadCounter("users/secret-key", 1)
		txn.End(Committed)
		if got := r.Stats().Reduced; got != 1 {
			t.Errorf("%d ranges were reduced", got)
		}
	}, WithKey([]byte("0123456789abcdef")), WithHashedKeys())
	if strings.Contains(lines, "secret") {
		t.Error(lines)
	}
	rec := one(t, lines)
	key := "users/" + hashed("0123456789abcdef", "bank", "users/secret-key")
	for i, o := range rec.Ops {
		if o.Key != key {
			t.Errorf("operation %d is on %s, want %s", i, o.Key, key)
		}
	}
	if o := rec.Ops[9]; o.Kind != event.Read || o.Value != rec.Ops[0].Value {
		t.Errorf("the row of a range: %+v", o)
	}
}

func TestOptions(t *testing.T) {
	for want, opts := range map[string][]Option{
		"no key to hash values with":      nil,
		"has 15 bytes, at least 16":       {WithKey(make([]byte, 15))},
		"has 0 bytes, at least 16":        {WithPlainValues(), WithHashedKeys()},
		"one in -1 keys":                  {WithPlainValues(), WithSampling(-1)},
		"beyond 16777216":                 {WithPlainValues(), WithMaxRecord(16<<20 + 1)},
		"a queue of 1 bytes holds no rec": {WithPlainValues(), WithQueue(1)},
	} {
		if _, err := New(&memory{}, "s", opts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := New(&memory{}, "", WithPlainValues()); err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("no source: %v", err)
	}
}

// A service without capture calls the same methods on nil.
func TestNil(t *testing.T) {
	var r *Recorder
	s := r.Session("s")
	ctx := WithSession(t.Context(), s)
	txn := r.Begin(Begin{Session: r.SessionFrom(ctx)})
	txn.Read("k", 1)
	txn.Range(Scan{}, nil)
	txn.SetCommitTS(1)
	txn.End(Committed)
	if s.Name() != "" || r.Stats() != (Stats{}) || r.Err() != nil || r.Close(t.Context()) != nil {
		t.Error("nil does something")
	}
}

// What a transaction takes besides the texts of its values: itself, and one buffer.
func TestAllocations(t *testing.T) {
	r, s := benchRecorder(t, WithKey(make([]byte, 32)))
	n := testing.AllocsPerRun(2000, func() { transfer(r, s) })
	if n > 2 && !raceEnabled {
		t.Errorf("%v allocations a transaction, at most 2 are meant", n)
	}
	if stats := r.Stats(); stats.Recorded < 2000 {
		t.Error(fmt.Sprint(stats))
	}
}
