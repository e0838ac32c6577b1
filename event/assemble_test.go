package event

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// assembleCase feeds every record as a batch of its own to an assembler and
// shows what each batch got. Lines that begin with % are commands:
//
//	% expire WATERMARK MAXTXN    the watermark passes; "end" for the last one
//	% max-open N                 and % max-bytes N: the limits
//	% oldest                     shows Oldest, Len and Evicted
//
// The whole case runs again with the state saved and loaded before each line,
// which must change nothing.
func assembleCase(t *testing.T, input string) string {
	want := runAssembler(t, input, false)
	if got := runAssembler(t, input, true); got != want {
		t.Errorf("%s\n---- with the state saved and loaded between\n%s\n---- without\n%s", input, got, want)
	}
	return want
}

func runAssembler(t *testing.T, input string, reload bool) string {
	t.Helper()
	a := &Assembler{Recorded: reload}
	var l stateLog
	var d Decoder
	var out []string
	for n, line := range records(input) {
		if reload {
			l.add(a)
			a = l.reloaded(t, a)
		}
		b := Batch{Partitions: []string{fmt.Sprintf("file:%d", n%2)}}
		var x, y int64
		switch {
		case scan(line, "%% max-open %d", &a.MaxOpen), scan(line, "%% max-bytes %d", &a.MaxBytes):
		case line == "% oldest":
			_, start := a.Oldest([]byte(DefaultSource))
			ok := start != math.MaxInt64
			if !ok {
				start = 0
			}
			out = append(out, fmt.Sprintf("oldest %d %v, %d open, %d evicted", start, ok, a.Len(), a.Evicted()))
		case scan(line, "%% expire end %d", &y):
			a.ExpireAll(&b, y)
		case scan(line, "%% expire %d %d", &x, &y):
			a.Expire(&b, []byte(DefaultSource), x, y)
		default:
			d.Decode(&b, Position{Offset: int64(n)}, []byte(line))
			a.Add(&b)
			b.Parts = nil
		}
		for i := range b.Txns {
			out = append(out, "at "+b.Where(b.Txns[i].Pos))
		}
		checkHashes(t, &b)
		checkRoundTrips(t, &b)
		if text := show(&b); text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}

func scan(line, format string, to ...any) bool {
	n, err := fmt.Sscanf(line, format, to...)
	return err == nil && n == len(to)
}

// stateLog holds what an assembler wrote, by round.
type stateLog struct {
	round  uint64
	rounds []loggedRound
	bytes  int // ever written
}

type loggedRound struct {
	round   uint64
	changes []byte
}

// add ends a round of a, and forgets what does not count any more.
func (l *stateLog) add(a *Assembler) {
	l.round++
	if changes := a.AppendChanges(nil, l.round); len(changes) > 0 {
		l.rounds = append(l.rounds, loggedRound{l.round, changes})
		l.bytes += len(changes)
	}
	for l.rounds[0].round < a.LoggedSince() {
		l.rounds = l.rounds[1:]
	}
}

func (l *stateLog) size() (n int) {
	for _, r := range l.rounds {
		n += len(r.changes)
	}
	return n
}

func (l *stateLog) restore() (*Assembler, error) {
	var r Restored
	for _, x := range l.rounds {
		if err := r.Add(x.round, x.changes); err != nil {
			return nil, err
		}
	}
	a := new(Assembler)
	return a, r.Into(a)
}

// reloaded is a as the log has it.
func (l *stateLog) reloaded(t *testing.T, a *Assembler) *Assembler {
	t.Helper()
	back, err := l.restore()
	if err != nil {
		t.Fatal(err)
	}
	back.MaxOpen, back.MaxBytes = a.MaxOpen, a.MaxBytes
	if got, want := openOf(back), openOf(a); got != want {
		t.Fatalf("round %d: the loaded is\n%swant\n%s", l.round, got, want)
	}
	if back.bytes != a.bytes || back.evicted != a.evicted {
		t.Fatalf("the loaded counts %d bytes and %d evicted, want %d and %d", back.bytes, back.evicted, a.bytes, a.evicted)
	}
	return back
}

// openOf is all that is open, with all that is known of it.
func openOf(a *Assembler) string {
	var s strings.Builder
	for open := a.oldest; open != nil; open = open.next {
		fmt.Fprintf(&s, "%d %s %+v %v/%d %v %v %v/%d %x", open.serial, open.partition, open.pos, open.hasStart, open.start,
			open.tooLong, open.early, open.stamped, open.waited, open.text[:open.head])
		for _, op := range open.ops {
			fmt.Fprintf(&s, " %d:%x", op.index, open.text[op.off:op.end])
		}
		if open.ended != nil {
			fmt.Fprintf(&s, " ended %+v", *open.ended)
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// The log of many that open and end, beside one that stays and one that grows, is
// small: it does not grow with what has passed, nor is what is open written again
// each time.
func TestAssemblerLog(t *testing.T) {
	a := &Assembler{Recorded: true}
	var l stateLog
	var d Decoder
	large := strings.Repeat("x", 1<<20)
	step := func(records ...string) {
		var b Batch
		for _, r := range records {
			d.Decode(&b, Position{}, []byte(r))
		}
		if a.Add(&b); len(b.Bad) > 0 {
			t.Fatal(b.Bad[0].Reason)
		}
		l.add(a)
	}
	step(`{"type":"begin","txn":"large","start":5}`, fmt.Sprintf(`{"type":"op","txn":"large","index":0,"op":"w","key":"k","value":%q}`, large))
	step(`{"type":"begin","txn":"grows","start":5}`)
	const rounds = 30_000
	most := 0
	for i := range rounds {
		records := []string{fmt.Sprintf(`{"type":"begin","txn":"t%d","start":%d}`, i, i+10)}
		if i%5 == 0 && i < 1000 {
			records = append(records, fmt.Sprintf(`{"type":"op","txn":"grows","index":%d,"op":"w","key":"k","value":%d}`, i/5, i))
		}
		if i >= 100 {
			records = append(records, fmt.Sprintf(`{"type":"commit","txn":"t%d","end":%d}`, i-100, i+20))
		}
		step(records...)
		most = max(most, l.size())
		if i%1000 == 0 {
			l.reloaded(t, a)
		}
	}
	l.reloaded(t, a)
	if most > 4*(a.bytes+1<<20) || len(l.rounds) > 10_000 {
		t.Errorf("the log held %d bytes, and holds %d rounds; %d bytes are open", most, len(l.rounds), a.bytes)
	}
	if l.bytes > 20<<20 {
		t.Errorf("%d bytes were written in %d rounds", l.bytes, rounds)
	}
	if size := l.size(); size < len(large) {
		t.Errorf("the log holds %d bytes, of more", size)
	}
	step()
	if n := len(l.rounds); l.rounds[n-1].round == l.round {
		t.Error("a round without a change writes something")
	}
}

// Transactions cut into parts, interleaved at random, with the parts of each
// but for begin and end in any order, come out as they were.
func TestAssembleInterleaved(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var queues [][]string
		want := map[string]string{}
		for i := range 1 + rng.IntN(8) {
			id := fmt.Sprintf("t%d", i)
			whole, parts := cut(rng, id)
			want[id] = whole
			queues = append(queues, parts)
		}
		var a Assembler
		var d Decoder
		for len(queues) > 0 {
			var b Batch
			for range 1 + rng.IntN(5) {
				if len(queues) == 0 {
					break
				}
				i := rng.IntN(len(queues))
				d.Decode(&b, Position{}, []byte(queues[i][0]))
				if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
					queues = slices.Delete(queues, i, i+1)
				}
			}
			a.Add(&b)
			if len(b.Bad) > 0 {
				t.Fatalf("seed %d: %s", seed, b.Bad[0].Reason)
			}
			for i := range b.Txns {
				r := b.Record(&b.Txns[i])
				if got := string(AppendJSON(nil, &r)); got != want[r.ID] {
					t.Fatalf("seed %d: %s, want %s", seed, got, want[r.ID])
				}
				delete(want, r.ID)
			}
		}
		if len(want) > 0 || a.Len() > 0 || a.bytes != 0 {
			t.Fatalf("seed %d: %d transactions did not come out, %d are open, %d bytes", seed, len(want), a.Len(), a.bytes)
		}
	}
}

// cut is a random transaction whole and as its parts.
func cut(rng *rand.Rand, id string) (whole string, parts []string) {
	var ops, shuffled []string
	for i := range rng.IntN(6) {
		op := fmt.Sprintf(`"op":"append","key":"k%d","value":%d`, rng.IntN(3), i)
		if rng.IntN(2) == 0 {
			op = fmt.Sprintf(`"op":"r","key":"k%d","value":[%d,"x"]`, rng.IntN(3), i)
		}
		ops = append(ops, "{"+op+"}")
		shuffled = append(shuffled, fmt.Sprintf(`{"type":"op","txn":%q,"index":%d,%s}`, id, i, op))
	}
	rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	start := rng.IntN(100)
	status, typ := "committed", "commit"
	if rng.IntN(3) == 0 {
		status, typ = "aborted", "abort"
	}
	whole = fmt.Sprintf(`{"txn":%q,"session":"s","seq":%d,"status":%q,"start":%d,"end":%d,"ops":[%s]}`,
		id, start, status, start, start+5, strings.Join(ops, ","))
	parts = append(parts, fmt.Sprintf(`{"type":"begin","txn":%q,"session":"s","seq":%d,"start":%d}`, id, start, start))
	parts = append(parts, shuffled...)
	return whole, append(parts, fmt.Sprintf(`{"type":%q,"txn":%q,"end":%d}`, typ, id, start+5))
}

func TestAssemblerTooLong(t *testing.T) {
	var a Assembler
	var d Decoder
	var b Batch
	value := strings.Repeat("x", MaxRecord/2)
	d.Decode(&b, Position{}, []byte(`{"type":"begin","txn":"t"}`))
	for i := range 3 {
		d.Decode(&b, Position{Offset: int64(i)}, fmt.Appendf(nil, `{"type":"op","txn":"t","index":%d,"op":"w","key":"k","value":%q}`, i, value))
	}
	d.Decode(&b, Position{Offset: 9}, []byte(`{"type":"commit","txn":"t"}`))
	a.Add(&b)
	if len(b.Txns) != 0 || len(b.Bad) != 3 || !strings.Contains(b.Bad[2].Reason, "16 MiB") || b.Bad[2].Pos.Offset != 9 {
		t.Errorf("%d transactions, dead letters %+v", len(b.Txns), b.Bad)
	}
}

func TestRestoreDamaged(t *testing.T) {
	a := Assembler{Recorded: true}
	var d Decoder
	b := Batch{Partitions: []string{"stdin"}}
	for _, rec := range []string{
		`{"type":"begin","txn":"t","session":"s","start":5}`, `{"type":"op","txn":"t","index":1,"op":"r","key":"k","value":[1]}`,
		`{"type":"begin","txn":"u","source":"o"}`, `{"type":"op","txn":"u","source":"o","index":0,"op":"inc","key":"k","value":1}`,
	} {
		d.Decode(&b, Position{}, []byte(rec))
	}
	a.Add(&b)
	state := a.AppendChanges(nil, 1)
	restore := func(changes []byte) (*Assembler, error) {
		return (&stateLog{rounds: []loggedRound{{1, changes}}}).restore()
	}
	if back, err := restore(state); err != nil || back.Len() != 2 {
		t.Fatalf("%v", err)
	}
	for i := range state {
		if back, err := restore(state[:i]); err == nil && back.Len() == 2 {
			t.Errorf("a state cut to %d of %d bytes is accepted", i, len(state))
		}
		for bit := range 8 {
			damaged := bytes.Clone(state)
			damaged[i] ^= 1 << bit
			if back, err := restore(damaged); err == nil {
				var out Batch
				back.ExpireAll(&out, 1)
			}
		}
	}
	if _, err := restore(append(bytes.Clone(state), 0)); err == nil {
		t.Error("a byte behind the state is accepted")
	}
}

// What is open counts for its source alone, and since the round began; sources
// without anything open do not pile up.
func TestAssemblerSources(t *testing.T) {
	var a Assembler
	var d Decoder
	add := func(records ...string) {
		var b Batch
		for _, r := range records {
			d.Decode(&b, Position{}, []byte(r))
		}
		if a.Add(&b); len(b.Bad) > 0 {
			t.Fatal(b.Bad[0].Reason)
		}
	}
	want := func(source string, since, now int64) {
		t.Helper()
		if s, n := a.Oldest([]byte(source)); s != since || n != now {
			t.Errorf("source %s: since %d, now %d; want %d, %d", source, s, n, since, now)
		}
	}
	const none = math.MaxInt64
	add(`{"type":"begin","txn":"1","source":"a","start":10}`, `{"type":"begin","txn":"2","source":"a","start":20}`)
	want("a", 10, 10)
	want("b", none, none)
	add(`{"type":"commit","txn":"1","source":"a","end":30}`)
	want("a", 10, 20)
	add()
	want("a", 20, 20)
	add(`{"type":"begin","txn":"1","source":"b","start":5}`, `{"type":"commit","txn":"1","source":"b","end":6}`)
	want("a", 20, 20)
	want("b", 5, none)
	var b Batch
	a.Expire(&b, []byte("b"), 1000, 1)
	if a.Expire(&b, []byte("a"), 21, 1); len(b.Txns) != 0 {
		t.Error("given up at start + maxTxn, or by another source's time")
	}
	if a.Expire(&b, []byte("a"), 22, 1); len(b.Txns) != 1 {
		t.Error("not given up behind start + maxTxn")
	}
	want("a", 20, none)
	for i := range 3 * maxIdleSources {
		add(fmt.Sprintf(`{"type":"begin","txn":"1","source":"s%d"}`, i), fmt.Sprintf(`{"type":"commit","txn":"1","source":"s%d"}`, i))
	}
	if n := len(a.sources); n > maxIdleSources+2 {
		t.Errorf("%d sources are kept", n)
	}
}
