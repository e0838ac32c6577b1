package window

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/verify"
)

// serialWith is a serial history of 2,000 transactions that overwrite two of 20 keys each, and the last ones. LEFT are
// reads of what is there at the end.
func serialWith(last ...string) string {
	var b strings.Builder
	left := [20]int{}
	for i := range 2000 {
		var ops []string
		for _, k := range []int{i % 20, (i + 1 + i/20%19) % 20} {
			if left[k] == 0 {
				ops = append(ops, fmt.Sprintf(`{"op":"r","key":"x%d","found":false}`, k))
			} else {
				ops = append(ops, fmt.Sprintf(`{"op":"r","key":"x%d","value":%d}`, k, left[k]))
			}
			left[k] = 2*i + 1 + k%2
			ops = append(ops, fmt.Sprintf(`{"op":"w","key":"x%d","value":%d}`, k, left[k]))
		}
		fmt.Fprintf(&b, `{"txn":"T%d","session":"s","seq":%d,"status":"committed","ops":[%s]}`+"\n", i, i+1, strings.Join(ops, ","))
	}
	var reads []string
	for _, k := range []int{0, 5, 10, 15} {
		reads = append(reads, fmt.Sprintf(`{"op":"r","key":"x%d","value":%d}`, k, left[k]))
	}
	b.WriteString(strings.ReplaceAll(strings.Join(last, "\n"), "LEFT", strings.Join(reads, ",")))
	return b.String()
}

func countingVerified(verified *int) Config {
	return Config{Levels: []isolation.Level{{Base: isolation.Serializable}}, Unbounded: true, Contract: Contract{Complete: true}, Verify: func(w *finding.Witness) error {
		*verified++
		return verify.Verify(w)
	}}
}

// The first read found what was there first, and four others found what was there last. The wrong one is
// told once, although the others come behind it in the record.
func TestWrongReadBeforeOthers(t *testing.T) {
	verified := 0
	var all []finding.Finding
	for _, f := range findingsOf(countingVerified(&verified), serialWith(
		`{"txn":"A","session":"a","seq":1,"status":"committed","ops":[{"op":"r","key":"x1","value":4},LEFT,{"op":"w","key":"mine","value":1}]}`)) {
		all = append(all, f)
	}
	if len(all) != 1 || verified > 4 { // with a shorter form, and again at the end
		t.Fatalf("%d findings, verified %d times: %v", len(all), verified, all)
	}
}

// A transaction missed six writes of another one, whose seventh it saw. That is one fault, which is
// searched for and verified as if it were one write.
func TestAlike(t *testing.T) {
	missed := func(n int) (verified int, all map[string]finding.Finding) {
		var writes, reads []string
		for k := range n {
			writes = append(writes, fmt.Sprintf(`{"op":"w","key":"l%d","value":1}`, k))
			reads = append(reads, fmt.Sprintf(`{"op":"r","key":"l%d","found":false}`, k))
		}
		all = findingsOf(countingVerified(&verified), serialWith(
			`{"txn":"A","session":"a","seq":1,"status":"committed","ops":[`+strings.Join(writes, ",")+`,{"op":"w","key":"l","value":1}]}`,
			`{"txn":"B","session":"b","seq":1,"status":"committed","ops":[{"op":"r","key":"l","value":1},LEFT,`+strings.Join(reads, ",")+`]}`))
		return verified, all
	}
	of1, one := missed(1)
	of6, six := missed(6)
	if len(one) != 1 || len(six) != 1 || of1 != of6 {
		t.Fatalf("one write: %d findings, verified %d times; six: %d, %d times", len(one), of1, len(six), of6)
	}
}

// How many transactions live at a time depends on when the watermark goes on. A finding is the same.
func TestNotByHowManyLive(t *testing.T) {
	var b strings.Builder
	record := func(id string, ms int, ops string) {
		fmt.Fprintf(&b, `{"txn":%q,"session":%[1]q,"seq":1,"status":"committed","start":%d,"end":%d,"ops":[%s]}`+"\n", id, ms*1e6, ms*1e6+1000, ops)
	}
	for i := range 1200 {
		record(fmt.Sprint("T", i), i+1, fmt.Sprintf(`{"op":"w","key":"k%d","value":1}`, i))
	}
	record("A", 1201, `{"op":"r","key":"x","found":false},{"op":"w","key":"x","value":1}`)
	record("B", 1202, `{"op":"r","key":"y","found":false},{"op":"w","key":"y","value":1}`)
	record("C", 1203, `{"op":"r","key":"x","value":1},{"op":"r","key":"y","found":false}`)
	record("D", 1204, `{"op":"r","key":"x","found":false},{"op":"r","key":"y","value":1}`)
	told := func(window time.Duration) (all string) {
		for _, f := range findingsOf(Config{
			Levels: []isolation.Level{{Base: isolation.Serializable}}, Window: For(window), Lateness: For(time.Millisecond), MaxTxn: time.Millisecond,
			Contract: Contract{Complete: true}, Verify: verify.Verify,
		}, b.String()) {
			all += fmt.Sprintln(f.Anomaly, f.Txns, f.Edges)
		}
		return all
	}
	if few, all := told(100*time.Millisecond), told(time.Hour); all == "" || few != all {
		t.Errorf("with few that live:\n%s\nwith all:\n%s", few, all)
	}
}
