package simtest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/window"
)

// TestFlatMemory gives a machine that keeps 20,000 keys and sessions transactions
// over ever-new rows and lists, by ever-new sessions, which now and then come back
// to an old one. A seventh have an unknown outcome, nearly all of them observed:
// the others wait in memory for that, 131,072 of them at most. What is
// in memory does not grow with what was ever seen, and nothing is found.
func TestFlatMemory(t *testing.T) {
	const (
		keyCap   = 20_000
		spacing  = 100 * time.Microsecond
		inWindow = 10_000 // transactions
	)
	n := transactions(t, testrun.Size(160_000, 300_000))
	cfg := window.Config{
		Contract: window.Contract{Complete: true}, KeyCap: keyCap, MaxTxn: time.Millisecond,
		Window: window.For(inWindow * spacing), Lateness: window.For(0),
	}
	b := &event.Batch{Partitions: []string{"flat"}}
	s := newSpilling(cfg, b)
	rng := rand.New(rand.NewPCG(7, 7))
	var d event.Decoder
	var text []byte
	var idx []int32
	type size struct {
		keys, txns, versions int
		bytes                int64
	}
	var half, most size
	now := func(i int) int64 { return 1_750_000_000_000_000_000 + int64(i)*int64(spacing) }
	for i := range n {
		text = flatTxn(text[:0], rng, i, now(i))
		d.Decode(b, event.Position{Offset: int64(i)}, text)
		if idx = append(idx, int32(len(idx))); len(idx) < 500 && i < n-1 {
			continue
		}
		if len(b.Bad) > 0 {
			t.Fatal(b.Bad[0].Reason)
		}
		puts, err := s.stepUnchecked(&s.eff, nil, idx...)
		if err != nil {
			t.Fatal(err)
		}
		s.write(puts)
		s.log = nil
		b.Reset()
		b.Partitions, idx = append(b.Partitions, "flat"), idx[:0]
		z := s.m.Sizes()
		most = size{max(most.keys, z.Keys), max(most.txns, z.Txns), max(most.versions, z.Versions), max(most.bytes, z.Bytes-z.FilterBytes)}
		if i < n/2 {
			half = most
		}
	}
	if err := s.m.Check(); err != nil {
		t.Fatal(err)
	}
	z := s.m.SpillSizes()
	t.Logf("%d transactions: %+v in memory at most, %+v in the first half; out: %+v; %d records", n, most, half, z, len(s.records))
	if len(s.eff.Findings) > 0 {
		t.Errorf("found %s: %s", s.eff.Findings[0].Anomaly, s.eff.Findings[0].Explanation)
	}
	if c := s.m.Totals(); c.Unattributed+c.Ambiguous+c.Gaps+c.Horizon > 0 {
		t.Errorf("counters %+v", c)
	}
	// Two keys and half a session a transaction of the window, and what the hand
	// has not met yet.
	if limit := keyCap + 4*inWindow; most.keys > limit || most.bytes > 600*int64(limit) {
		t.Errorf("%d keys and %d bytes in memory, want at most %d and 600 a key", most.keys, most.bytes, limit)
	}
	if most.bytes > half.bytes*5/4 || most.txns > half.txns*11/10 || most.versions > half.versions*11/10 {
		t.Errorf("grew in the second half: %+v after %+v", most, half)
	}
	if z.Keys < int64(n)/2 || z.Txns < int64(n)/4 || z.Sessions < int64(n)/20 || z.Returned < int64(n)/100 {
		t.Errorf("less is out, or came back, than the test is about: %+v", z)
	}
}

// flatTxn is the i-th transaction: a new row and an append to a new list, and the
// row of an older one.
func flatTxn(dst []byte, rng *rand.Rand, i int, now int64) []byte {
	status := "committed"
	if i%7 == 3 {
		status = "unknown"
	}
	dst = fmt.Appendf(dst, `{"txn":"t%d","session":"s%d","seq":%d,"start":%d,"end":%d,"status":"%s","ops":[`,
		i, i/4, i%4, now-1000, now, status)
	dst = fmt.Appendf(dst, `{"op":"r","key":"row/%d","found":false},{"op":"w","key":"row/%d","value":1},{"op":"append","key":"list/%d","value":%d}`, i, i, i/2, i)
	switch {
	case i%7 == 4 && i%700 != 4: // shows most of the unknown ones to have taken effect
		dst = fmt.Appendf(dst, `,{"op":"r","key":"row/%d","value":1}`, i-1)
	case i%50 == 0 && i > 0:
		if j := rng.IntN(i); j%7 != 3 {
			dst = append(dst, `,{"op":"r","key":"row/`...)
			dst = strconv.AppendInt(dst, int64(j), 10)
			dst = append(dst, `","value":1}`...)
		}
	}
	return append(dst, "]}"...)
}

// TestSparseChunks keeps one in 500 of the keys in use, and so their names and the
// records of their writers, while all others go out: what stays is moved together,
// and does not hold on to the memory of its neighbours.
func TestSparseChunks(t *testing.T) {
	t.Parallel()
	n := transactions(t, testrun.Size(60_000, 100_000))
	cfg := window.Config{
		Contract: window.Contract{Complete: true}, KeyCap: 1000, MaxTxn: time.Millisecond,
		Window: window.For(1000 * time.Microsecond), Lateness: window.For(0),
	}
	b := &event.Batch{Partitions: []string{"sparse"}}
	s := newSpilling(cfg, b)
	var d event.Decoder
	var text []byte
	var idx []int32
	long := strings.Repeat("x", 400)
	most := int64(0)
	for i := range n {
		now := 1_750_000_000_000_000_000 + int64(i)*int64(time.Microsecond)
		text = fmt.Appendf(text[:0], `{"txn":"t%d","start":%d,"end":%d,"status":"committed","ops":[{"op":"r","key":"%s%d","found":false},{"op":"w","key":"%s%d","value":1}`,
			i, now-1, now, long, i, long, i)
		if kept := min(i/500, 100); kept > 0 && i%500 != 0 {
			text = fmt.Appendf(text, `,{"op":"r","key":"%s%d","value":1}`, long, i%kept*500)
		}
		d.Decode(b, event.Position{Offset: int64(i)}, append(text, "]}"...))
		if idx = append(idx, int32(len(idx))); len(idx) < 200 && i < n-1 {
			continue
		}
		puts, err := s.stepUnchecked(&s.eff, nil, idx...)
		if err != nil {
			t.Fatal(err)
		}
		s.write(puts)
		s.log = nil
		b.Reset()
		b.Partitions, idx = append(b.Partitions, "sparse"), idx[:0]
		z := s.m.Sizes()
		most = max(most, z.Bytes-z.FilterBytes)
	}
	if err := s.m.Check(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes at most; %+v", most, s.m.SpillSizes())
	if len(s.eff.Findings) > 0 {
		t.Errorf("found %s: %s", s.eff.Findings[0].Anomaly, s.eff.Findings[0].Explanation)
	}
	if most > 16<<20 {
		t.Errorf("%d bytes in memory for 1,100 keys", most)
	}
}
