package simtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/workload"
)

// epoch is instant 0 of a scenario: 2025-01-01T00:00:00Z in ns since the Unix
// epoch. Times in "txn" lines are ms behind it.
const epoch, ms = 1_735_689_600_000_000_000, 1_000_000

const defaultPartition = "sim"

// records makes records of "txn" lines: those of workload.Parse, and the fields
// epoch, isolation and at, the partition that brings the record.
type records struct{ seq map[string]int64 } // by session: the latest

func (r *records) parse(rest string) (partition string, record []byte, err error) {
	head, ops, ok := strings.Cut(rest, ":")
	if !ok {
		return "", nil, fmt.Errorf("%q has no operations", rest)
	}
	partition = defaultPartition
	var kept []string
	extra, session, seq := "", "", ""
	for _, w := range strings.Fields(head) {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "at":
			partition = value
		case "epoch", "isolation":
			extra += fmt.Sprintf("%q:%q,", key, strings.ReplaceAll(value, "_", " "))
		case "session":
			session = value
			kept = append(kept, w)
		case "seq":
			seq = value
		default:
			kept = append(kept, w)
		}
	}
	if session != "" {
		if kept, err = r.number(kept, session, seq); err != nil {
			return "", nil, err
		}
	}
	txns, err := workload.Parse("txn " + strings.Join(kept, " ") + ":" + ops)
	if err != nil {
		return "", nil, err
	}
	t := &txns[0]
	if t.End != 0 {
		t.Start, t.End = epoch+t.Start*ms, epoch+t.End*ms
	}
	text := workload.AppendJSON(nil, t)
	return partition, append([]byte("{"+extra), text[1:]...), nil
}

// number adds the place in the session: as written, or one after the latest.
func (r *records) number(words []string, session, seq string) ([]string, error) {
	n := r.seq[session] + 1
	if seq == "none" {
		return append(words, "seq=none"), nil
	}
	if seq != "" {
		var err error
		if n, err = strconv.ParseInt(seq, 10, 64); err != nil {
			return nil, fmt.Errorf("seq: %w", err)
		}
	}
	r.seq[session] = n
	return append(words, fmt.Sprintf("seq=%d", n)), nil
}

// raw is a record given as JSON, with an optional first word at=PARTITION.
func raw(rest string) (partition string, record []byte) {
	if word, text, ok := strings.Cut(rest, " "); ok && strings.HasPrefix(word, "at=") {
		return strings.TrimPrefix(word, "at="), []byte(text)
	}
	return defaultPartition, []byte(rest)
}

func TestRecords(t *testing.T) {
	r := records{map[string]int64{}}
	for _, c := range []struct{ line, partition, want string }{
		{"T1 session=a: read x nil", "sim", `{"txn":"T1","session":"a","seq":1,"status":"committed","ops":[{"op":"r","key":"x","found":false}]}`},
		{"T2 session=a at=p epoch=e2 start=0 end=3: append x 1", "p",
			`{"epoch":"e2","txn":"T2","session":"a","seq":2,"status":"committed","start":1735689600000000000,"end":1735689600003000000,"ops":[{"op":"append","key":"x","value":1}]}`},
		{"T3 session=a seq=9 isolation=READ_COMMITTED: write x 1", "sim",
			`{"isolation":"READ COMMITTED","txn":"T3","session":"a","seq":9,"status":"committed","ops":[{"op":"w","key":"x","value":1}]}`},
	} {
		partition, got, err := r.parse(c.line)
		if err != nil || partition != c.partition || string(got) != c.want {
			t.Errorf("%s:\ngot  %s %s %v\nwant %s %s", c.line, partition, got, err, c.partition, c.want)
		}
	}
	for line, want := range map[string]string{
		"T1 read x 1":              `"T1 read x 1" has no operations`,
		"T1 session=a seq=x: read": `seq: strconv.ParseInt: parsing "x": invalid syntax`,
		"T1 color=red: read x 1":   `line 1: unknown field "color"`,
	} {
		if _, _, err := r.parse(line); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
	if p, text := raw(`at=q {"txn":"T1"}`); p != "q" || string(text) != `{"txn":"T1"}` {
		t.Errorf("raw: %s %s", p, text)
	}
}
