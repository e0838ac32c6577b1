package kafka

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// batches builds a fetched record set from words: OFFSET,OFFSET... are the
// records of one batch, with @PID before them a transactional one; abort@PID:N
// and commit@PID:N are markers at offset N; empty:N is a batch at N whose
// records were compacted away; head:N/OFFSET... one whose first were.
func batches(t *testing.T, text string) protocol.RecordSet {
	t.Helper()
	stream := &protocol.RecordStream{}
	for word := range strings.FieldsSeq(text) {
		stream.Records = append(stream.Records, batch(t, word))
	}
	if len(stream.Records) == 0 {
		return protocol.RecordSet{}
	}
	return protocol.RecordSet{Version: 2, Records: stream}
}

func batch(t *testing.T, word string) protocol.RecordReader {
	t.Helper()
	var pid, base int64
	for name, kind := range map[string]int16{"abort": 0, "commit": 1} {
		if n, _ := fmt.Sscanf(word, name+"@%d:%d", &pid, &base); n == 2 {
			b := protocol.NewControlBatch(protocol.ControlRecord{Offset: base, Type: kind, Data: make([]byte, 6)})
			b.BaseOffset, b.ProducerID = base, pid
			return b
		}
	}
	if n, _ := fmt.Sscanf(word, "empty:%d", &base); n == 1 {
		return &protocol.RecordBatch{BaseOffset: base, Records: protocol.NewRecordReader()}
	}
	b := &protocol.RecordBatch{ProducerID: -1, BaseOffset: -1}
	if head, rest, ok := strings.Cut(word, "/"); ok {
		fmt.Sscanf(head, "head:%d", &b.BaseOffset)
		word = rest
	}
	if rest, ok := strings.CutPrefix(word, "@"); ok {
		who, offsets, _ := strings.Cut(rest, ":")
		fmt.Sscan(who, &b.ProducerID)
		b.Attributes, word = protocol.Transactional, offsets
	}
	var records []protocol.Record
	for text := range strings.SplitSeq(word, ",") {
		var o int64
		if _, err := fmt.Sscan(text, &o); err != nil {
			t.Fatalf("word %q: %v", word, err)
		}
		records = append(records, protocol.Record{
			Offset: o, Key: protocol.NewBytes([]byte("key")), Value: protocol.NewBytes(fmt.Append(nil, "v", o)),
		})
	}
	if b.BaseOffset < 0 {
		b.BaseOffset = records[0].Offset
	}
	b.Records = protocol.NewRecordReader(records...)
	return b
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name    string
		from    int64
		holes   bool
		set     string
		aborted string // PID:FIRST ...
		want    string // offsets delivered
		next    int64
		jump    int64
	}{
		{name: "nothing", from: 7, next: 7},
		{name: "plain", set: "0,1,2 3,4", want: "0 1 2 3 4", next: 5},
		{name: "batch begins before what was asked", from: 2, set: "0,1,2 3", want: "2 3", next: 4},
		{name: "whole batch before what was asked", from: 3, set: "0,1,2", want: "", next: 3},
		{name: "committed transaction", set: "@9:0,1 commit@9:2", want: "0 1", next: 3},
		{name: "aborted transaction", set: "@9:0,1 abort@9:2", aborted: "9:0", want: "", next: 3},
		{name: "abort of one producer only", set: "@9:0 @8:1 abort@9:2 commit@8:3", aborted: "9:0", want: "1", next: 4},
		{name: "same producer: aborted, committed, aborted", aborted: "9:0 9:4",
			set: "@9:0 abort@9:1 @9:2 commit@9:3 @9:4 abort@9:5", want: "2", next: 6},
		{name: "aborted list in any order", aborted: "9:4 9:0",
			set: "@9:0 abort@9:1 @9:2 commit@9:3 @9:4 abort@9:5", want: "2", next: 6},
		{name: "asked for the middle of an aborted transaction", from: 5, aborted: "9:0",
			set: "@9:5 6 abort@9:7 8", want: "6 8", next: 9},
		{name: "plain record of a producer with an aborted transaction", aborted: "-1:0", set: "0,1", want: "0 1", next: 2},
		{name: "trailing marker", from: 2, set: "commit@9:2", next: 3},
		{name: "markers only", from: 2, set: "commit@9:2 abort@8:3 commit@9:4", next: 5},
		{name: "data then trailing aborted data", set: "0 @9:1,2", aborted: "9:1", want: "0", next: 3},
		{name: "jump in front", from: 3, set: "5,6", next: 3, jump: 5},
		{name: "jump within", set: "0,1 5,6", want: "0 1", next: 2, jump: 5},
		{name: "jump to a marker", set: "0 abort@9:2", want: "0", next: 1, jump: 2},
		{name: "jump on a compacted topic", from: 3, holes: true, set: "5,6 9", want: "5 6 9", next: 10},
		{name: "records missing within a batch are compaction", set: "0,3,4 5", want: "0 3 4 5", next: 6},
		{name: "head of a batch compacted away", from: 10, set: "head:10/12,13", want: "12 13", next: 14},
		{name: "empty batch alone steps by one", from: 10, set: "empty:10", next: 11},
		{name: "inside an empty batch it does not move", from: 12, set: "empty:10", next: 12},
		{name: "empty batch between", holes: true, set: "0 empty:1 5", want: "0 5", next: 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reading{from: c.from, next: c.from, holes: c.holes}
			if err := r.read(batches(t, c.set), transactions(t, c.aborted)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, run := range r.runs {
				for _, m := range run.messages {
					got = append(got, fmt.Sprint(m.Offset))
					if want := fmt.Sprint("v", m.Offset); string(m.Value) != want {
						t.Errorf("offset %d holds %q, want %q", m.Offset, m.Value, want)
					}
				}
				if last := run.messages[len(run.messages)-1].Offset; run.next <= last || run.next > r.next {
					t.Errorf("run ends at %d, with last offset %d and position %d", run.next, last, r.next)
				}
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("delivered %q, want %q", text, c.want)
			}
			if r.next != c.next || r.jump != c.jump {
				t.Errorf("next %d jump %d, want %d and %d", r.next, r.jump, c.next, c.jump)
			}
		})
	}
}

func transactions(t *testing.T, text string) []fetch.ResponseTransaction {
	t.Helper()
	var list []fetch.ResponseTransaction
	for word := range strings.FieldsSeq(text) {
		var x fetch.ResponseTransaction
		if _, err := fmt.Sscanf(word, "%d:%d", &x.ProducerID, &x.FirstOffset); err != nil {
			t.Fatalf("transaction %q: %v", word, err)
		}
		list = append(list, x)
	}
	return list
}

// A run that is committed must not cover a record of the next one.
func TestRunsAreCutBetweenRecords(t *testing.T) {
	const records, each = 40, 100 << 10
	var list []protocol.Record
	for i := range records {
		list = append(list, protocol.Record{Offset: int64(i), Value: protocol.NewBytes(bytes.Repeat([]byte{byte(i)}, each))})
	}
	half := records / 2
	set := protocol.RecordSet{Records: &protocol.RecordStream{Records: []protocol.RecordReader{
		&protocol.RecordBatch{BaseOffset: 0, Records: protocol.NewRecordReader(list[:half]...)},
		&protocol.RecordBatch{BaseOffset: int64(half), Records: protocol.NewRecordReader(list[half:]...)},
	}}}
	r := reading{}
	if err := r.read(set, nil); err != nil {
		t.Fatal(err)
	}
	if want := records * each / maxRun; len(r.runs) < want {
		t.Fatalf("%d runs for %d bytes", len(r.runs), records*each)
	}
	next := int64(0)
	for _, run := range r.runs {
		bytes := 0
		for _, m := range run.messages {
			if m.Offset != next {
				t.Fatalf("offset %d where %d was due", m.Offset, next)
			}
			if len(m.Value) != each || m.Value[0] != byte(next) || m.Value[each-1] != byte(next) {
				t.Fatalf("offset %d holds other bytes", next)
			}
			next, bytes = next+1, bytes+len(m.Value)
		}
		if run.next != next {
			t.Errorf("run ends at %d, its last record is %d", run.next, next-1)
		}
		if bytes > maxRun {
			t.Errorf("a run of %d bytes", bytes)
		}
	}
	if next != records {
		t.Errorf("%d records of %d", next, records)
	}
}

func TestRecordLargerThanARun(t *testing.T) {
	value := bytes.Repeat([]byte("x"), 3*maxRun)
	r := reading{}
	err := r.read(protocol.RecordSet{Records: &protocol.RecordStream{Records: []protocol.RecordReader{
		&protocol.RecordBatch{Records: protocol.NewRecordReader(
			protocol.Record{Offset: 0, Value: protocol.NewBytes([]byte("small"))},
			protocol.Record{Offset: 1, Value: protocol.NewBytes(value)},
			protocol.Record{Offset: 2}, // a null value
		)},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, run := range r.runs {
		for _, m := range run.messages {
			got = append(got, fmt.Sprintf("%d:%d", m.Offset, len(m.Value)))
		}
	}
	if want := fmt.Sprintf("0:5 1:%d 2:0", len(value)); strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// Values must not be reachable from one another by append.
func TestValuesDoNotOverlap(t *testing.T) {
	r := reading{}
	if err := r.read(batches(t, "0,1,2"), nil); err != nil {
		t.Fatal(err)
	}
	messages := r.runs[0].messages
	_ = append(messages[0].Value, "overwritten"...)
	if string(messages[1].Value) != "v1" {
		t.Errorf("value 1 became %q", messages[1].Value)
	}
}
