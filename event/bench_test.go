package event

import (
	"fmt"
	"strconv"
	"testing"
)

// benchRecords are events of four operations: 265 bytes without and 350 bytes
// with source, times and sequence number.
func benchRecords() map[string][]byte {
	return map[string][]byte{
		"small": []byte(`{"txn":"w12-0000184467","session":"w12","status":"committed","ops":[` +
			`{"op":"r","key":"accounts/00421","value":184411},{"op":"r","key":"accounts/00017","value":184460},` +
			`{"op":"w","key":"accounts/00421","value":184467},{"op":"w","key":"accounts/00017","value":184468}]}`),
		"full": []byte(`{"txn":"w12-0000184467","source":"orders","session":"w12","seq":184467,"status":"committed",` +
			`"start":1760000000123456789,"end":1760000000125456789,"ops":[` +
			`{"op":"r","key":"accounts/00421","value":184411},{"op":"r","key":"accounts/00017","value":184460},` +
			`{"op":"w","key":"accounts/00421","value":184467},{"op":"w","key":"accounts/00017","value":184468}]}`),
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, rec := range benchRecords() {
		b.Run(name, func(b *testing.B) {
			var d Decoder
			var batch Batch
			b.SetBytes(int64(len(rec)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%1000 == 0 {
					batch.Reset()
				}
				d.Decode(&batch, Position{}, rec)
			}
			if len(batch.Bad) > 0 {
				b.Fatal(batch.Bad[0].Reason)
			}
		})
	}
}

func BenchmarkProtoDecode(b *testing.B) {
	from := decodeOne(b, string(benchRecords()["full"]))
	r := from.Record(&from.Txns[0])
	msg := AppendProto(nil, &r)
	var d Decoder
	var batch Batch
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%1000 == 0 {
			batch.Reset()
		}
		d.DecodeMessage(&batch, Position{}, msg)
	}
	if len(batch.Bad) > 0 {
		b.Fatal(batch.Bad[0].Reason)
	}
}

func BenchmarkAppendRecord(b *testing.B) {
	batch := decodeOne(b, string(benchRecords()["full"]))
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendRecord(dst[:0], batch, &batch.Txns[0])
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkDecodeRecord(b *testing.B) {
	from := decodeOne(b, string(benchRecords()["full"]))
	rec := AppendRecord(nil, from, &from.Txns[0])
	var d Decoder
	var batch Batch
	b.SetBytes(int64(len(rec)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%1000 == 0 {
			batch.Reset()
		}
		if err := d.DecodeRecord(&batch, Position{}, rec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkContentHash(b *testing.B) {
	batch := decodeOne(b, string(benchRecords()["full"]))
	var sum uint64
	for b.Loop() {
		sum += ContentHash(batch, &batch.Txns[0])
	}
	_ = sum
}

// A list read of 100 elements, 590 bytes.
func BenchmarkDecodeList(b *testing.B) {
	rec := []byte(`{"txn":"w12-0000184467","status":"committed","ops":[{"op":"r","key":"accounts/00421","value":[`)
	for i := range 100 {
		if i > 0 {
			rec = append(rec, ',')
		}
		rec = strconv.AppendInt(rec, 1000+int64(i), 10)
	}
	rec = append(rec, "]}]}"...)
	var d Decoder
	var batch Batch
	b.SetBytes(int64(len(rec)))
	b.ReportAllocs()
	for b.Loop() {
		batch.Reset()
		d.Decode(&batch, Position{}, rec)
	}
	if len(batch.Elems) != 100 {
		b.Fatalf("%d elements, %+v", len(batch.Elems), batch.Bad)
	}
}

// Six records of a transaction with four operations, with 1,000 others open.
func BenchmarkAssemble(b *testing.B) {
	var d Decoder
	var a Assembler
	var others, batch Batch
	for i := range 1000 {
		d.Decode(&others, Position{}, fmt.Appendf(nil, `{"type":"begin","txn":"o%d","start":%d}`, i, i))
	}
	a.Add(&others)
	d.Decode(&batch, Position{}, []byte(`{"type":"begin","txn":"w12-0000184467","session":"w12","seq":184467,"start":1760000000123456789}`))
	for i := range 4 {
		d.Decode(&batch, Position{}, fmt.Appendf(nil, `{"type":"op","txn":"w12-0000184467","index":%d,"op":"w","key":"accounts/%05d","value":184411}`, i, i))
	}
	d.Decode(&batch, Position{}, []byte(`{"type":"commit","txn":"w12-0000184467","end":1760000000125456789}`))
	full := markOf(&batch)
	b.ReportAllocs()
	for b.Loop() {
		full.restore(&batch)
		a.Add(&batch)
	}
	if len(batch.Txns) != 1 || batch.Txns[0].NumOps != 4 {
		b.Fatalf("%+v", batch)
	}
}
