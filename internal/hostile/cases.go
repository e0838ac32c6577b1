// Package hostile makes streams that want more memory than a monitor may have, or try to confuse it.
// Its tests run the monitor on them, and measure its peak of resident memory.
package hostile

import (
	"bufio"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Case is a stream. The faults that it plants must be found, whatever the memory.
type Case struct {
	Name string
	// Write writes a stream of size n. A write that fails is told by w.Flush.
	Write func(w *bufio.Writer, n int)
	// Short and Long are sizes: for go test, and for make hostile.
	Short, Long int
	Planted     int // reads of aborted data, at any size
	Bad         int // records that are dead letters, of n; -1: any
	Flags       []string
}

// Cases are all streams.
func Cases() []Case {
	return []Case{
		{Name: "records of 10 MB", Write: values(10 << 20), Short: 4, Long: 60, Planted: 1},
		{Name: "values of 15 MB", Write: values(15_000_000), Short: 4, Long: 80, Planted: 1},
		{Name: "keys of 15 MB", Write: keysOf(15_000_000), Short: 4, Long: 40, Planted: 1},
		{Name: "records of 100 MB", Write: values(100 << 20), Short: 1, Long: 5, Bad: -1},
		{Name: "elements in a value", Write: elements, Short: 200_000, Long: 8_000_000, Planted: 1, Bad: -1},
		{Name: "operations in a record", Write: operations, Short: 20_000, Long: 100_000, Planted: 1},
		{Name: "too many operations in a record", Write: operations, Short: 200_000, Long: 1_000_000, Planted: 1, Bad: -1},
		{Name: "operations in pieces", Write: pieces, Short: 50_000, Long: 1_000_000, Planted: 1, Bad: -1},
		{Name: "keys in a window", Write: keys, Short: 100_000, Long: 5_000_000, Planted: 1},
		{Name: "sessions in a window", Write: sessions, Short: 50_000, Long: 5_000_000, Planted: 1},
		{Name: "transactions", Write: transactions, Short: 100_000, Long: 3_460_000, Planted: 1},
		{Name: "open transactions", Write: open, Short: 50_000, Long: 1_500_000, Bad: -1},
		{Name: "contradictory ids", Write: contradictory, Short: 4_000, Long: 50_000, Planted: 1},
		{Name: "epochs", Write: epochs, Short: 2_000, Long: 100_000, Planted: 1},
		{Name: "sources", Write: sources, Short: 1_000, Long: 5_000, Planted: 1, Bad: -1},
		{Name: "a hot key", Write: hot, Short: 20_000, Long: 500_000, Planted: 1},
		{Name: "jumps of seq by 2^40", Write: jumps, Short: 4_000, Long: 20_000, Planted: 1},
		{Name: "gaps of seq", Write: gaps, Short: 2_000, Long: 100_000, Planted: 1},
		{Name: "times at the ends of the range", Write: ends, Short: 10_000, Long: 200_000, Planted: 1},
	}
}

// Find is the case of that name.
func Find(name string) (Case, bool) {
	for _, c := range Cases() {
		if c.Name == name {
			return c, true
		}
	}
	return Case{}, false
}

// base is the time of the first transaction, ns. Streams span at most 50 s from there: one window.
const base = int64(1_760_000_000_000_000_000)

// at is when the i-th of n transactions begins.
func at(i, n int) int64 {
	return base + int64(float64(i)/float64(n+1)*float64(50*time.Second))
}

// txn writes a committed transaction. ops are the operations' JSON.
func txn(w *bufio.Writer, id, session string, seq int, start int64, ops string) {
	fmt.Fprintf(w, record, id, session, seq, "committed", start, start+1000, ops)
}

const record = `{"txn":%q,"session":%q,"seq":%d,"status":%q,"start":%d,"end":%d,"ops":[%s]}` + "\n"

// plant writes a read of aborted data: at the end of a stream, of a key of its own.
func plant(w *bufio.Writer, start int64, value string) {
	fmt.Fprintf(w, record, "aborted", "a", 1, "aborted", start, start+1000, `{"op":"w","key":"planted","value":"`+value+`"}`)
	txn(w, "reader", "b", 1, start+2000, `{"op":"r","key":"planted","value":"`+value+`"}`)
}

// values are n records with a value of so many bytes each.
func values(size int) func(w *bufio.Writer, n int) {
	return func(w *bufio.Writer, n int) {
		long := strings.Repeat("v", size)
		for i := range n {
			fmt.Fprintf(
				w,
				`{"txn":"t%d","session":"s","seq":%d,"status":"committed","start":%d,"end":%d,"ops":[{"op":"w","key":"k%d","value":"%d`,
				i,
				i+1,
				at(i, n),
				at(i, n)+1000,
				i,
				i,
			)
			w.WriteString(long)
			w.WriteString("\"}]}\n")
		}
		plant(w, at(n, n), long)
	}
}

// keysOf are n records with a key of so many bytes each.
func keysOf(size int) func(w *bufio.Writer, n int) {
	return func(w *bufio.Writer, n int) {
		long := strings.Repeat("k", size)
		for i := range n {
			fmt.Fprintf(w, `{"txn":"t%d","session":"s","seq":%d,"status":"committed","start":%d,"end":%d,"ops":[{"op":"w","value":1,"key":"%d`, i, i+1, at(i, n), at(i, n)+1000, i)
			w.WriteString(long)
			w.WriteString("\"}]}\n")
		}
		plant(w, at(n, n), "x")
	}
}

// elements are ten reads of a list with n elements.
func elements(w *bufio.Writer, n int) {
	for i := range 10 {
		fmt.Fprintf(w, `{"txn":"t%d","session":"s","seq":%d,"status":"committed","start":%d,"end":%d,"ops":[{"op":"r","key":"k","value":[1`, i, i+1, at(i, 10), at(i, 10)+1000)
		for range n - 1 {
			w.WriteString(",1")
		}
		w.WriteString("]}]}\n")
	}
	plant(w, at(10, 10), "x")
}

// operations are two records with n operations each: one writes, the other reads.
func operations(w *bufio.Writer, n int) {
	for i, op := range []string{"w", "r"} {
		fmt.Fprintf(w, `{"txn":"t%d","session":"s","seq":%d,"status":"committed","start":%d,"end":%d,"ops":[`, i, i+1, at(i, 2), at(i, 2)+1000)
		for k := range n {
			if k > 0 {
				w.WriteByte(',')
			}
			fmt.Fprintf(w, `{"op":"%s","key":%d,"value":%d}`, op, k, k)
		}
		w.WriteString("]}\n")
	}
	plant(w, at(2, 2), "x")
}

// pieces are one transaction with n operations, each a record of its own.
func pieces(w *bufio.Writer, n int) {
	fmt.Fprintf(w, `{"type":"begin","txn":"t","session":"s","seq":1,"start":%d}`+"\n", base)
	for i := range n {
		fmt.Fprintf(w, `{"type":"op","txn":"t","index":%d,"op":"w","key":"k%d","value":%d}`+"\n", i, i, i)
	}
	fmt.Fprintf(w, `{"type":"commit","txn":"t","end":%d}`+"\n", base+1000)
	plant(w, at(1, 1), "x")
}

// keys are n keys, four a transaction, each written once.
func keys(w *bufio.Writer, n int) {
	for i := 0; i < n; i += 4 {
		ops := fmt.Sprintf(`{"op":"w","key":"k%d","value":1},{"op":"w","key":"k%d","value":1},{"op":"w","key":"k%d","value":1},{"op":"w","key":"k%d","value":1}`, i, i+1, i+2, i+3)
		txn(w, "t"+strconv.Itoa(i), "s"+strconv.Itoa(i/4%64), i/256+1, at(i, n), ops)
	}
	plant(w, at(n, n), "x")
}

// sessions are n sessions with one transaction each.
func sessions(w *bufio.Writer, n int) {
	for i := range n {
		txn(w, "t"+strconv.Itoa(i), "session-"+strconv.Itoa(i), 1, at(i, n), chain(i))
	}
	plant(w, at(n, n), "x")
}

// chain are the operations of the i-th transaction of an ordinary, serial history: two reads and an update of 10,000 keys.
func chain(i int) string {
	const keys = 10_000
	last := func(k, i int) string { // who updated k before i: each key has its turn
		n := i - i%keys + k
		if n >= i {
			n -= keys
		}
		if n < 0 {
			return "null"
		}
		return strconv.Itoa(n)
	}
	k, a, b := i%keys, i*7%keys, i*13%keys
	return fmt.Sprintf(
		`{"op":"r","key":"accounts/%d","value":%s},{"op":"r","key":"accounts/%d","value":%s},{"op":"r","key":"accounts/%d","value":%s},{"op":"w","key":"accounts/%d","value":%d}`,
		a,
		last(a, i),
		b,
		last(b, i),
		k,
		last(k, i),
		k,
		i,
	)
}

// transactions are n ordinary ones of 64 sessions.
func transactions(w *bufio.Writer, n int) {
	for i := range n {
		txn(w, "w"+strconv.Itoa(i%64)+"-"+strconv.Itoa(i), "w"+strconv.Itoa(i%64), i/64+1, at(i, n), chain(i))
	}
	plant(w, at(n, n), "x")
}

// open are n transactions that begin, do something and never end.
func open(w *bufio.Writer, n int) {
	for i := range n {
		fmt.Fprintf(w, `{"type":"begin","txn":"t%d","session":"s%d","start":%d}`+"\n", i, i, at(i, n))
		fmt.Fprintf(w, `{"type":"op","txn":"t%d","index":0,"op":"w","key":"k%d","value":"a value of some fifty bytes, as an ordinary one has"}`+"\n", i, i)
	}
}

// contradictory are n records with n/2 ids: two records of one id say different things.
func contradictory(w *bufio.Writer, n int) {
	for i := range n {
		txn(w, "t"+strconv.Itoa(i/2), "s"+strconv.Itoa(i%64), i/64+1, at(i, n), fmt.Sprintf(`{"op":"w","key":"k%d","value":%d}`, i%1000, i))
	}
	plant(w, at(n, n), "x")
}

// epochs are n epochs with three transactions each.
func epochs(w *bufio.Writer, n int) {
	for i := range 3 * n {
		fmt.Fprintf(w, `{"txn":"t%d","epoch":"e%d","session":"s%d","status":"committed","start":%d,"end":%d,"ops":[{"op":"w","key":"k","value":%d}]}`+"\n",
			i, i/3, i%3, at(i, 3*n), at(i, 3*n)+100, i)
	}
	plant(w, at(n, n), "x")
}

// sources are n sources with three transactions each.
func sources(w *bufio.Writer, n int) {
	plant(w, base, "x")
	for i := range 3 * n {
		fmt.Fprintf(w, `{"txn":"t%d","source":"source-%d","session":"s%d","status":"committed","start":%d,"end":%d,"ops":[{"op":"w","key":"k","value":%d}]}`+"\n",
			i, i/3, i%3, at(i, 3*n), at(i, 3*n)+100, i)
	}
}

// hot are n updates of one key, and as many reads of it.
func hot(w *bufio.Writer, n int) {
	before := "null"
	for i := range n {
		txn(w, "u"+strconv.Itoa(i), "w"+strconv.Itoa(i%64), i/64+1, at(i, n), fmt.Sprintf(`{"op":"r","key":"hot","value":%s},{"op":"w","key":"hot","value":%d}`, before, i))
		txn(w, "r"+strconv.Itoa(i), "r"+strconv.Itoa(i%64), i/64+1, at(i, n)+1500, fmt.Sprintf(`{"op":"r","key":"hot","value":%d}`, i))
		before = strconv.Itoa(i)
	}
	plant(w, at(n, n), "x")
}

// jumps are n transactions of 64 sessions, whose seq grows by 2^40 from one to the next, until it cannot.
func jumps(w *bufio.Writer, n int) {
	for i := range n {
		seq := (i/64)<<40 + 1
		if seq < 0 || i/64 >= 1<<22 {
			seq = math.MaxInt64
		}
		txn(w, "t"+strconv.Itoa(i), "s"+strconv.Itoa(i%64), seq, at(i, n), fmt.Sprintf(`{"op":"w","key":"k%d","value":%d}`, i%1000, i))
	}
	plant(w, at(n, n), "x")
}

// gaps are n sessions, whose second transaction comes just before a jump of seq counts as a loss.
func gaps(w *bufio.Writer, n int) {
	for i := range 2 * n {
		txn(w, "t"+strconv.Itoa(i), "s"+strconv.Itoa(i/2), 1+i%2*(1<<22-100), at(i, 2*n), fmt.Sprintf(`{"op":"w","key":"k%d","value":%d}`, i%1000, i))
	}
	plant(w, at(n, n), "x")
}

// ends are n transactions at the ends of the range of times, and between them.
func ends(w *bufio.Writer, n int) {
	plant(w, base, "x")
	times := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, base, math.MaxInt64 - 1, math.MaxInt64}
	for i := range n {
		start, end := times[i%len(times)], times[(i*5+i/8)%len(times)]
		fmt.Fprintf(w, `{"txn":"t%d","session":"s%d","status":"committed","start":%d,"end":%d,"ops":[{"op":"w","key":"k%d","value":%d}]}`+"\n",
			i, i%64, min(start, end), max(start, end), i%1000, i)
	}
}
