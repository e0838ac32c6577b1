package event

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// seedRecords are the records of testdata.
func seedRecords(f *testing.F) []string {
	f.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no testdata: %v", err)
	}
	var recs []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "{") || strings.HasPrefix(line, " {") {
				recs = append(recs, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	for _, rec := range benchRecords() {
		recs = append(recs, string(rec))
	}
	return recs
}

// The decoder accepts what encoding/json and the rules of the format accept,
// and reads the same from it. What it accepts survives both encodings.
func FuzzDecode(f *testing.F) {
	for _, rec := range seedRecords(f) {
		f.Add([]byte(rec))
	}
	f.Fuzz(func(t *testing.T, rec []byte) {
		var d Decoder
		var b Batch
		d.Decode(&b, Position{}, rec)
		if len(b.Txns)+len(b.Parts)+len(b.Marks)+len(b.Bad) != 1 {
			t.Fatalf("%d transactions, %d parts, %d marks, %d dead letters", len(b.Txns), len(b.Parts), len(b.Marks), len(b.Bad))
		}
		checkHashes(t, &b)
		checkRoundTrips(t, &b)
		want, err := oracle(rec)
		switch {
		case errors.Is(err, errOutside):
		case err != nil && len(b.Bad) == 0:
			t.Fatalf("accepted: %s", show(&b))
		case err == nil && len(b.Bad) > 0:
			t.Fatalf("%s, yet the oracle reads %+v", b.Bad[0].Reason, *want)
		case err == nil:
			got := b.Record(&b.Txns[0])
			for i := range got.Ops {
				got.Ops[i].Flags &^= HasExtra
			}
			if !reflect.DeepEqual(got, *want) {
				t.Fatalf("%+v, the oracle reads %+v", got, *want)
			}
		}
	})
}

// No bytes make the compact reader fail otherwise than by an error, and what it
// accepts has one form only to those who read on.
func FuzzDecodeRecord(f *testing.F) {
	for _, rec := range seedRecords(f) {
		var d Decoder
		var b Batch
		if d.Decode(&b, Position{}, []byte(rec)); len(b.Txns) == 1 {
			f.Add(AppendRecord(nil, &b, &b.Txns[0]))
		}
	}
	f.Fuzz(func(t *testing.T, rec []byte) {
		var d Decoder
		var b Batch
		if d.DecodeRecord(&b, Position{}, rec) != nil {
			return
		}
		again := AppendRecord(nil, &b, &b.Txns[0])
		r := b.Record(&b.Txns[0])
		var back Batch
		if err := d.DecodeRecord(&back, Position{}, again); err != nil {
			t.Fatalf("%x: %v", again, err)
		}
		if got := back.Record(&back.Txns[0]); !reflect.DeepEqual(got, r) {
			t.Fatalf("%+v, want %+v", got, r)
		}
		if ContentHash(&back, &back.Txns[0]) != ContentHash(&b, &b.Txns[0]) {
			t.Fatal("the content hash differs")
		}
	})
}

// Whatever the parts, an assembler gives the same transactions when it is
// saved and loaded in between, and ends empty.
func FuzzAssembler(f *testing.F) {
	for _, file := range []string{"testdata/assemble.txt"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for c := range strings.SplitSeq(string(text), "\n\n") {
			input, _, _ := strings.Cut(c, "\n----\n")
			f.Add([]byte(strings.Join(records(input), "\n")), uint8(2))
		}
	}
	f.Fuzz(func(t *testing.T, msg []byte, maxOpen uint8) {
		var d Decoder
		plain, saved := &Assembler{MaxOpen: int(maxOpen)}, &Assembler{MaxOpen: int(maxOpen), Recorded: true}
		var l stateLog
		for i, line := range strings.Split(string(msg), "\n") {
			var one, two Batch
			d.DecodeMessage(&one, Position{Offset: int64(i)}, []byte(line))
			d.DecodeMessage(&two, Position{Offset: int64(i)}, []byte(line))
			plain.Add(&one)
			l.add(saved)
			saved = l.reloaded(t, saved)
			saved.Add(&two)
			if a, b := show(&one), show(&two); a != b {
				t.Fatalf("%s\n---- saved and loaded\n%s", a, b)
			}
			checkHashes(t, &one)
		}
		var last Batch
		plain.ExpireAll(&last, 1)
		checkRoundTrips(t, &last)
		if _, now := plain.Oldest([]byte(DefaultSource)); now != math.MaxInt64 || plain.Len() != 0 || plain.bytes != 0 {
			t.Fatalf("%d open, %d bytes", plain.Len(), plain.bytes)
		}
	})
}

// No bytes make the Protobuf decoder fail otherwise than by dead letters, and
// what it accepts survives all encodings. How a message is cut into records does
// not depend on what is in them.
func FuzzDecodeProto(f *testing.F) {
	for _, rec := range seedRecords(f) {
		var d Decoder
		var b Batch
		if d.Decode(&b, Position{}, []byte(rec)); len(b.Txns) == 1 {
			r := b.Record(&b.Txns[0])
			f.Add(AppendProto(nil, &r))
		}
	}
	for _, c := range wrongProto() {
		if len(c.msg) < 1<<10 {
			f.Add(c.msg)
		}
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		if !IsProto(msg) {
			return
		}
		var d Decoder
		var b, one Batch
		d.DecodeMessage(&b, Position{}, msg)
		checkHashes(t, &b)
		checkRoundTrips(t, &b)
		rest, sub := msg, uint32(0)
		for {
			n := RecordsPrefix(rest)
			if n <= 0 {
				break
			}
			d.DecodeMessage(&one, Position{Sub: sub}, rest[:n])
			rest, sub = rest[n:], sub+1
		}
		if len(rest) > 0 {
			return
		}
		if a, b := show(&b), show(&one); a != b {
			t.Fatalf("%s\n---- record by record\n%s", a, b)
		}
	})
}

// A message is the same records as its lines one by one.
func FuzzDecodeMessage(f *testing.F) {
	f.Add([]byte("{}\n\r\n {\"txn\":1,\"status\":\"unknown\",\"ops\":[]}\r\n\n[]"))
	f.Fuzz(func(t *testing.T, msg []byte) {
		var d Decoder
		if IsProto(msg) {
			return
		}
		var whole, lines Batch
		d.DecodeMessage(&whole, Position{Offset: 4}, msg)
		sub := uint32(0)
		for line := range strings.SplitSeq(string(msg), "\n") {
			if strings.Trim(line, " \t\r") == "" {
				continue
			}
			d.Decode(&lines, Position{Offset: 4, Sub: sub}, []byte(line))
			sub++
		}
		if a, b := show(&whole), show(&lines); a != b {
			t.Fatalf("%s\n---- line by line\n%s", a, b)
		}
	})
}
