package event

import (
	"fmt"
	"strings"
	"testing"
)

// nested is a transaction whose one value is nested n deep; the record, ops
// and the operation are three more.
func nested(n int) string {
	return `{"txn":"t","status":"committed","ops":[{"op":"w","key":"k","value":` +
		strings.Repeat("[", n) + strings.Repeat("]", n) + `}]}`
}

func manyOps(n int) string {
	return `{"txn":"t","status":"committed","ops":[` + strings.TrimSuffix(strings.Repeat(`{"op":"delete","key":"k"},`, n), ",") + `]}`
}

func longRecord(n int) string {
	const head, tail = `{"txn":"t","status":"committed","ops":[],"pad":"`, `"}`
	return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
}

func TestDecodeLimits(t *testing.T) {
	for _, c := range []struct{ name, rec, reason string }{
		{"depth 32", nested(29), ""},
		{"depth 33", nested(30), "byte 96, ops[0]: nested more than 32 deep"},
		{"depth 32 of objects", strings.NewReplacer("[[", `{"a":[`, "]]", "]}").Replace(nested(28)), ""},
		{"100000 operations", manyOps(MaxOps), ""},
		{"100001 operations", manyOps(MaxOps + 1), "byte 2600039, ops[100000]: more than 100000 operations"},
		{"16 MiB", longRecord(MaxRecord), ""},
		{"16 MiB and a byte", longRecord(MaxRecord + 1), "byte 16777216: the record is longer than 16 MiB"},
		{"invalid UTF-8 in a value", `{"txn":"t","status":"committed","ops":[{"op":"w","key":"k","value":"` + "\xff" + `"}]}`, "byte 68: invalid UTF-8"},
		{"UTF-8 cut short", `{"txn":"` + "\xe2\x82", "byte 8: invalid UTF-8"},
		{"a surrogate in UTF-8", `{"txn":"` + "\xed\xa0\x80" + `"}`, "byte 8: invalid UTF-8"},
		{"a byte order mark", "\ufeff{}", "byte 0: an object is expected"},
		{"nothing", "", "byte 0: an object is expected"},
		{"a zero byte", "{\x00}", "byte 1: a field name is expected"},
		{"a zero byte in a string", "{\"txn\":\"\x00\"}", "byte 8: a control character within a string"},
	} {
		var d Decoder
		var b Batch
		d.Decode(&b, Position{Offset: 3, Sub: 1}, []byte(c.rec))
		switch {
		case c.reason == "" && (len(b.Txns) != 1 || len(b.Bad) != 0):
			t.Errorf("%s: %+v", c.name, b.Bad)
		case c.reason != "" && (len(b.Txns) != 0 || len(b.Bad) != 1):
			t.Errorf("%s: %d transactions, %d dead letters", c.name, len(b.Txns), len(b.Bad))
		case c.reason != "" && b.Bad[0].Reason != c.reason:
			t.Errorf("%s: %q, want %q", c.name, b.Bad[0].Reason, c.reason)
		case c.reason != "":
			bad := b.Bad[0]
			if want := c.rec[:min(len(c.rec), 64<<10)]; b.Text(bad.Raw) != want || bad.Pos != (Position{Offset: 3, Sub: 1}) {
				t.Errorf("%s: %d bytes kept at %v, want %d", c.name, bad.Raw.Len, bad.Pos, len(want))
			}
		}
	}
}

// A record that fails leaves nothing of itself but the dead letter.
func TestDecodeBadLeavesNothing(t *testing.T) {
	var d Decoder
	var b Batch
	d.Decode(&b, Position{}, []byte(`{"txn":"t","status":"committed","ops":[{"op":"r","key":"x","value":[1]}]}`))
	want := show(&b)
	d.Decode(&b, Position{}, []byte(`{"txn":"u","status":"committed","ops":[{"op":"r","key":"\u0078","value":[1 ,2]},`+
		`{"op":"range","result":[{"key":"a","value":1}]},{"op":"w"}]}`))
	if len(b.Bad) != 1 || len(b.Txns) != 1 || len(b.Ops) != 1 || len(b.Elems) != 1 || len(b.Extras) != 0 || len(b.Rows) != 0 {
		t.Fatalf("the batch holds %+v", b)
	}
	b.Bad = nil
	if got := show(&b); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The first record of a batch and the tenth are read alike, also by a decoder
// that another batch used before.
func TestDecodeManyInOneBatch(t *testing.T) {
	var d Decoder
	var b Batch
	for round := range 3 {
		b.Reset()
		for i := range 10 {
			rec := fmt.Sprintf(`{"txn":"t%d","status":"committed","ops":[{"op":"r","key":"k%d","value":["\u0041%d", 2]}]}`, i, i, i)
			d.Decode(&b, Position{Offset: int64(i)}, []byte(rec))
		}
		for i := range b.Txns {
			r := b.Record(&b.Txns[i])
			op := r.Ops[0]
			if r.ID != fmt.Sprintf("t%d", i) || r.Source != "default" || op.Key != fmt.Sprintf("k%d", i) || op.Elems[0] != fmt.Sprintf(`"A%d"`, i) {
				t.Errorf("round %d, record %d: %+v", round, i, r)
			}
		}
		checkHashes(t, &b)
	}
}

// Values that differ as texts differ as hashes, equal ones are equal however
// they are spelled.
func TestValueIdentity(t *testing.T) {
	classes := [][]string{
		{`1`}, {`1.0`}, {`"1"`}, {`-0`}, {`0`}, {`1e0`}, {`null`}, {`""`}, {`true`}, {`"true"`},
		{`"é"`, `"\u00e9"`, `"\u00E9"`}, {`"/"`, `"\/"`}, {`"\n"`, `"\u000a"`}, {`"\u0000"`}, {`"\\u0000"`},
		{`"😀"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`}, {`"\u007f"`, "\"\x7f\""},
		{`[1,2]`, `[ 1, 2 ]`, "[1,\t2]"}, {`[2,1]`}, {`[]`, `[ ]`}, {`{}`, `{ }`},
		{`{"a":1,"b":[]}`, `{ "a" : 1, "b" : [ ] }`, `{"\u0061":1,"b":[]}`}, {`{"b":[],"a":1}`}, {`[[1],2]`}, {`["a b"]`, `[ "a b" ]`}, {`["ab"]`},
	}
	seen := map[Hash]string{}
	for _, class := range classes {
		var first Hash
		for i, value := range class {
			b := decodeOne(t, `{"txn":"t","status":"committed","ops":[{"op":"w","key":"k","value":`+value+`}]}`)
			h := b.Ops[0].ValueHash
			if i == 0 {
				if other, twice := seen[h]; twice {
					t.Errorf("%s is taken for %s", value, other)
				}
				first, seen[h] = h, value
			} else if h != first {
				t.Errorf("%s and %s are one value, but differ", value, class[0])
			}
		}
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	var d Decoder
	var b Batch
	recs := [][]byte{
		benchRecords()["full"],
		[]byte(`{"txn":"t","labels":{"a":[1]},"session":"s","status":"unknown","start":"2024-05-06T07:08:09+02:00","end":"2024-05-06T07:08:09Z",` +
			`"ops":[{"op":"r","key":"\u0061","value":[1, "\n"]},{"op":"cas","key":"x","expected":1,"value":2,"success":true},{"op":"range","result":[{"key":1,"value":2}]}]}`),
	}
	if n := testing.AllocsPerRun(100, func() {
		b.Reset()
		for _, rec := range recs {
			d.Decode(&b, Position{}, rec)
		}
	}); n > 0 || len(b.Bad) > 0 {
		t.Errorf("%v allocations, dead letters %+v", n, b.Bad)
	}
}

func TestWhere(t *testing.T) {
	b := Batch{Partitions: []string{"kafka:orders/3", "nats:ISOWATCH", "file:/var/log/x.jsonl", "stdin"}}
	for i, want := range []string{"kafka:orders/3/17", "nats:ISOWATCH/17", "file:/var/log/x.jsonl:17", "stdin:17"} {
		if got := b.Where(Position{Partition: uint32(i), Offset: 17}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Where an input has records of one source alone, a record that names another one is bad: a transaction, a part, a mark, in both forms.
func TestOnlyOneSource(t *testing.T) {
	record := func(source string) []byte {
		return AppendProto(nil, &Record{ID: "t", Source: source, Status: Committed})
	}
	for _, c := range []struct {
		text string
		own  bool
	}{
		{`{"txn":"t","source":"a","status":"committed","ops":[]}`, true},
		{`{"txn":"t","status":"committed","ops":[]}`, true},
		{`{"txn":"t","source":"ab","status":"committed","ops":[]}`, false},
		{`{"type":"begin","txn":"t","source":"b"}`, false},
		{`{"type":"begin","txn":"t","source":"a"}`, true},
		{`{"type":"mark","name":"m","start":1,"source":"b"}`, false},
		{`{"type":"mark","name":"m","start":1}`, true},
		{string(record("b")), false},
		{string(record("a")), true},
		{string(record("")), true},
	} {
		for _, only := range []bool{false, true} {
			d, b := Decoder{Source: "a", Only: only}, Batch{}
			d.DecodeMessage(&b, Position{}, []byte(c.text))
			if good := len(b.Txns)+len(b.Parts)+len(b.Marks) == 1 && len(b.Bad) == 0; good != (c.own || !only) {
				t.Errorf("%q, only %v: %+v", c.text, only, b.Bad)
			}
			for _, bad := range b.Bad {
				if !strings.Contains(bad.Reason, "this input has only records of") || !strings.HasSuffix(bad.Reason, `"a"`) {
					t.Errorf("%q: %s", c.text, bad.Reason)
				}
			}
		}
	}
}

// A decoder's source is that of the records that name none, in any batch, and what
// is stored keeps it whatever the decoder that reads it back is told.
func TestDecoderSource(t *testing.T) {
	records := []string{
		`{"txn":"a","status":"committed","ops":[]}`,
		`{"txn":"b","source":"named","status":"committed","ops":[]}`,
		`{"txn":"c","source":null,"status":"committed","ops":[]}`,
	}
	var d Decoder
	for _, source := range []string{"", "orders", "billing", ""} {
		want := []string{source, "named", source}
		if source == "" {
			want[0], want[2] = DefaultSource, DefaultSource
		}
		var b, back Batch
		d.Source = source
		for _, r := range records {
			d.DecodeMessage(&b, Position{}, []byte(r))
		}
		if len(b.Txns) != len(want) {
			t.Fatalf("%d records, %+v", len(b.Txns), b.Bad)
		}
		other := Decoder{Source: "other"}
		for i := range b.Txns {
			if err := other.DecodeRecord(&back, Position{}, AppendRecord(nil, &b, &b.Txns[i])); err != nil {
				t.Fatal(err)
			}
			if got, stored := string(b.Bytes(b.Txns[i].Source)), string(back.Bytes(back.Txns[i].Source)); got != want[i] || stored != want[i] {
				t.Errorf("decoder of %q: record %d is of %q, stored as %q, want %q", source, i, got, stored, want[i])
			}
		}
	}
}
