package event

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

// checkRoundTrips takes every transaction of b through the compact record and
// through JSON, and compares all that a transaction holds.
func checkRoundTrips(t *testing.T, b *Batch) {
	t.Helper()
	for i := range b.Txns {
		txn := &b.Txns[i]
		want := b.Record(txn)
		hash := ContentHash(b, txn)
		rec := AppendRecord(nil, b, txn)
		if epoch := RecordEpoch(rec); string(epoch) != want.Epoch {
			t.Errorf("%s: epoch of the compact record is %q, want %q", want.ID, epoch, want.Epoch)
		}

		var d Decoder
		back := Batch{Data: []byte("what a batch holds already")}
		if err := d.DecodeRecord(&back, txn.Pos, rec); err != nil {
			t.Fatalf("%s: %v", want.ID, err)
		}
		compare(t, "compact", &back, txn.Pos, want, hash)
		if again := AppendRecord(nil, &back, &back.Txns[0]); !bytes.Equal(again, rec) {
			t.Errorf("%s: the compact record of the decoded is %x, want %x", want.ID, again, rec)
		}

		back.Reset()
		d.Decode(&back, txn.Pos, AppendJSON(nil, &want))
		if len(back.Bad) > 0 {
			t.Fatalf("%s: JSON %s: %s", want.ID, AppendJSON(nil, &want), back.Bad[0].Reason)
		}
		compare(t, "JSON", &back, txn.Pos, want, hash)

		back.Reset()
		d.DecodeMessage(&back, txn.Pos, AppendProto(nil, &want))
		if len(back.Bad) > 0 {
			t.Fatalf("%s: Protobuf %x: %s", want.ID, AppendProto(nil, &want), back.Bad[0].Reason)
		}
		compare(t, "Protobuf", &back, txn.Pos, want, hash)

		read, err := ReadRecord(rec)
		if err != nil || !reflect.DeepEqual(read, want) {
			t.Errorf("ReadRecord: %+v, %v, want %+v", read, err, want)
		}
	}
}

func compare(t *testing.T, way string, b *Batch, pos Position, want Record, hash uint64) {
	t.Helper()
	checkHashes(t, b)
	txn := &b.Txns[0]
	if txn.Pos != pos {
		t.Errorf("%s by %s: position %v, want %v", want.ID, way, txn.Pos, pos)
	}
	if got := b.Record(txn); !reflect.DeepEqual(got, want) {
		t.Errorf("by %s\n%+v, want\n%+v", way, got, want)
	}
	if got := ContentHash(b, txn); got != hash {
		t.Errorf("%s by %s: content hash %x, want %x", want.ID, way, got, hash)
	}
}

// decodeOne decodes a record that must be a good transaction.
func decodeOne(t testing.TB, rec string) *Batch {
	t.Helper()
	var d Decoder
	b := new(Batch)
	d.Decode(b, Position{}, []byte(rec))
	if len(b.Txns) != 1 {
		t.Fatalf("%s: %+v", rec, b.Bad)
	}
	return b
}

func TestRecordSize(t *testing.T) {
	for name, limit := range map[string]int{"small": 120, "full": 140} {
		b := decodeOne(t, string(benchRecords()[name]))
		if n := len(AppendRecord(nil, b, &b.Txns[0])); n > limit {
			t.Errorf("%s: %d bytes, want at most %d", name, n, limit)
		}
	}
}

// Every cut of a record, and every change of one byte, is an error or a
// transaction, and an error leaves the batch as it was.
func TestDecodeRecordDamaged(t *testing.T) {
	b := decodeOne(t, `{"txn":"t","source":"s","epoch":"e","session":"c","seq":1,"status":"committed","start":1,"end":2,"start_ts":3,`+
		`"commit_ts":4,"isolation":"serializable","name":"n","trace_id":"i","labels":{"endpoint":"db","b":""},"ops":[{"op":"r","key":"x","value":[1,[2],{"a":"b"}],"version":1},`+
		`{"op":"cas","key":"y","expected":1,"value":2,"success":true,"seen":1},{"op":"range","from":"a","limit":2,"result":[{"key":"k","value":9,"version":"v"},{"key":"l","value":9}]}]}`)
	rec := AppendRecord(nil, b, &b.Txns[0])
	var d Decoder
	try := func(damaged []byte) error {
		var back Batch
		err := d.DecodeRecord(&back, Position{}, damaged)
		if err != nil && len(back.Data)+len(back.Txns)+len(back.Ops)+len(back.Elems)+len(back.Extras)+len(back.Rows) != 0 {
			t.Errorf("%x: %v, and the batch holds %+v", damaged, err, back)
		}
		return err
	}
	for i := range rec {
		if try(rec[:i]) == nil {
			t.Errorf("a record cut to %d of %d bytes is accepted", i, len(rec))
		}
		for bit := range 8 {
			damaged := bytes.Clone(rec)
			damaged[i] ^= 1 << bit
			_ = try(damaged)
		}
	}
	if err := try(append(bytes.Clone(rec), 0)); err == nil || !strings.Contains(err.Error(), "behind") {
		t.Errorf("a byte behind the record: %v", err)
	}
	if err := try(append([]byte{9}, rec[1:]...)); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("another version: %v", err)
	}
}

func TestContentHash(t *testing.T) {
	base := `{"txn":"t","session":"s","seq":1,"status":"committed","start":1,"end":2,"ops":[{"op":"w","key":"x","value":1}]}`
	hash := func(rec string) uint64 {
		b := decodeOne(t, rec)
		return ContentHash(b, &b.Txns[0])
	}
	same := []string{
		`{"name":"n","trace_id":"i","labels":{},"txn":"t","session":"s","seq":1,"status":"committed","start":1,"end":2,"ops":[{"op":"w","key":"x","value":1}]}`,
		`{"txn":"t","source":"default","session":"s","seq":1,"status":"committed","start":"1970-01-01T00:00:00.000000001Z","end":2,"ops":[{"key":"\u0078","value":1,"op":"w"}]}`,
	}
	for _, rec := range same {
		if hash(rec) != hash(base) {
			t.Errorf("%s hashes unlike %s", rec, base)
		}
	}
	seen := map[uint64]string{hash(base): base}
	for _, change := range [][2]string{
		{`"t"`, `"u"`}, {`"session":"s",`, ``}, {`"session":"s"`, `"session":"r"`}, {`"seq":1`, `"seq":2`}, {`"seq":1,`, ``},
		{`committed`, `unknown`}, {`"start":1`, `"start":0`}, {`"end":2`, `"end":3`}, {`"start":1,"end":2,`, ``},
		{`"txn"`, `"source":"o","txn"`}, {`"txn"`, `"epoch":"o","txn"`}, {`"txn"`, `"isolation":"o","txn"`}, {`"txn"`, `"stale":true,"txn"`},
		{`"txn"`, `"start_ts":0,"txn"`}, {`"txn"`, `"start_ts":1,"txn"`}, {`"txn"`, `"commit_ts":1,"txn"`},
		{`"op":"w"`, `"op":"append"`}, {`"op":"w"`, `"kind":"list","op":"w"`}, {`"x"`, `"y"`}, {`"value":1`, `"value":2`}, {`"value":1`, `"value":"1"`},
		{`"value":1`, `"value":1,"version":1`}, {`"value":1`, `"value":1,"prev_version":1`}, {`}]`, `},{"op":"w","key":"x","value":1}]`},
		{`{"op":"w","key":"x","value":1}`, `{"op":"r","key":"x","found":false}`}, {`{"op":"w","key":"x","value":1}`, `{"op":"delete","key":"x"}`},
		{`{"op":"w","key":"x","value":1}`, `{"op":"cas","key":"x","value":1,"expected":1,"success":true}`},
		{`{"op":"w","key":"x","value":1}`, `{"op":"cas","key":"x","value":1,"expected":2,"success":true}`},
		{`{"op":"w","key":"x","value":1}`, `{"op":"cas","key":"x","value":1,"expected":1,"success":false}`},
		{`{"op":"w","key":"x","value":1}`, `{"op":"cas","key":"x","value":1,"expected":1,"success":true,"seen":1}`},
		{`{"op":"w","key":"x","value":1}`, `{"op":"range","result":[]}`}, {`{"op":"w","key":"x","value":1}`, `{"op":"range","from":"","result":[]}`},
		{`{"op":"w","key":"x","value":1}`, `{"op":"range","to":"","result":[]}`}, {`{"op":"w","key":"x","value":1}`, `{"op":"range","desc":true,"result":[]}`},
		{`{"op":"w","key":"x","value":1}`, `{"op":"range","limit":1,"result":[]}`}, {`{"op":"w","key":"x","value":1}`, `{"op":"range","result":[{"key":"a","value":1}]}`},
		{`{"op":"w","key":"x","value":1}`, `{"op":"range","result":[{"key":"a","value":1,"version":1}]}`}, {`{"op":"w","key":"x","value":1}`, `{"op":"range","result":[{"key":"a","value":1,"version":"1"}]}`},
		{`{"op":"w","key":"x","value":1}`, `{"op":"range","result":[{"key":"a","value":2}]}`}, {`{"op":"w","key":"x","value":1}`, `{"op":"range","result":[{"key":"b","value":1}]}`},
	} {
		rec := strings.Replace(base, change[0], change[1], 1)
		h := hash(rec)
		if other, twice := seen[h]; twice {
			t.Errorf("%s hashes like %s", rec, other)
		}
		seen[h] = rec
	}
}
func TestRecordID(t *testing.T) {
	var b Batch
	var d Decoder
	d.Decode(&b, Position{}, []byte(`{"txn":"T-1","session":"s","status":"committed","ops":[]}`))
	rec := AppendRecord(nil, &b, &b.Txns[0])
	if got := RecordID(rec); got != "T-1" {
		t.Errorf("%q", got)
	}
	for n := range 7 { // the id ends with byte 7
		if got := RecordID(rec[:n]); got != "" {
			t.Errorf("of %d bytes: %q", n, got)
		}
	}
}

// A range whose rows tell no versions is written as it was before rows could tell them, and read so.
func TestRecordOfRowsWithoutVersions(t *testing.T) {
	const before = "0101000174020a08b00161017a02020161013101620322322209200178"
	b := decodeOne(t, `{"txn":"t","status":"committed","ops":[{"op":"range","from":"a","to":"z","limit":2,"result":[{"key":"a","value":1},{"key":"b","value":"2"}]},`+
		`{"op":"delete","key":"x"}]}`)
	rec := AppendRecord(nil, b, &b.Txns[0])
	if got := hex.EncodeToString(rec); got != before {
		t.Errorf("%s, want %s", got, before)
	}
}
