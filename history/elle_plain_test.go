package history

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// elleRead is all that an EDN history is read as: records, places, elements, dead letters, and the error.
// Where plainly is false, every record goes through nodes and JSON. The file is read in such pieces; 0: in one.
func elleRead(text string, plainly bool, piece int) (out string, plain int) {
	var all strings.Builder
	b := &event.Batch{Partitions: []string{"file:x"}}
	flush := func() error {
		for i := range b.Txns {
			t := &b.Txns[i]
			fmt.Fprintf(&all, "%x %v %x %v %v", event.AppendRecord(nil, b, t), t.Pos, event.ContentHash(b, t), t.IDHash, t.SessionHash)
			for _, o := range b.OpsOf(t) {
				fmt.Fprintf(&all, " %v %v %v", o.KeyHash, o.ValueHash, o.Flags)
				for _, x := range b.ElemsOf(&o) {
					fmt.Fprintf(&all, " %s %v", b.Bytes(x.Value), x.Hash)
				}
			}
			all.WriteByte('\n')
		}
		for _, x := range b.Bad {
			fmt.Fprintf(&all, "bad %v %s %s\n", x.Pos, x.Reason, b.Bytes(x.Raw))
		}
		b.Reset()
		b.Partitions = append(b.Partitions, "file:x")
		return nil
	}
	r := &Reader{Batch: b, Flush: flush}
	if !plainly {
		r.Came = func(string, event.Position, [][]byte) {}
	}
	used := 0
	r.Used = func(bytes int) { used += bytes }
	e := newElleReader(r, []byte(text))
	if piece > 0 {
		e.nodes.data, e.nodes.pieces = nil, pieces{in: strings.NewReader(text), least: piece, drop: e.drop}
	}
	err := e.nodes.each(e.operation)
	if err == nil {
		if e.reach(len(e.nodes.data)); used != len(text) {
			err = fmt.Errorf("%d bytes of %d are used", used, len(text))
		}
	}
	if err == nil {
		err = e.finish()
	}
	_ = flush()
	fmt.Fprintf(&all, "%v\n", err)
	return all.String(), cap(e.unused)
}

// elleHistory is a small history of lists and registers, in the forms that occur.
func elleHistory(rng *rand.Rand) string {
	var text strings.Builder
	lists, open := map[int][]string{}, map[int]string{}
	for i := range 4 + rng.IntN(20) {
		process := rng.IntN(3)
		value, typ := open[process], [...]string{"ok", "ok", "ok", "fail", "info"}[rng.IntN(5)]
		if value == "" || rng.IntN(20) == 0 {
			typ = "invoke"
			var ops []string
			for range 1 + rng.IntN(3) {
				key := rng.IntN(4)
				switch rng.IntN(4) {
				case 0:
					ops = append(ops, fmt.Sprintf("[:append %d %d]", key, i))
					lists[key] = append(lists[key], fmt.Sprint(i))
				case 1:
					ops = append(ops, fmt.Sprintf("[:w :k%d %d]", key, i))
				case 2:
					ops = append(ops, fmt.Sprintf("[:r %d [%s]]", key, strings.Join(lists[key], " ")))
				default:
					ops = append(ops, fmt.Sprintf("[:r :k%d nil]", key), fmt.Sprintf("[:r :x %d]", key))
				}
			}
			value = "[" + strings.Join(ops, " ") + "]"
			open[process] = value
		} else {
			delete(open, process)
		}
		fields := []string{":type :" + typ, fmt.Sprintf(":process %d", process), ":f :txn", ":value " + value, fmt.Sprintf(":time %d", 100*i), fmt.Sprintf(":index %d", i)}
		if rng.IntN(10) == 0 {
			rng.Shuffle(len(fields), func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
		}
		fmt.Fprintf(&text, "{%s}\n", strings.Join(fields[:len(fields)-rng.IntN(2)], ", "))
	}
	return text.String()
}

// TestPlain: plain records are read as they are through nodes and JSON, and so is what is nearly plain.
func TestPlain(t *testing.T) {
	t.Parallel()
	const first = "{:type :invoke :process 0 :value [[:w 1 0]]}\n{:type :ok :process 0 :value [[:w 1 0]]}\n"
	for _, text := range []string{
		"{:type :ok :process 1 :value [[:r 1 []] [:r 2 [1]] [:r 3 [ 1 2]] [:r 4 [1,2]] [:r 5 [1, 2]] [:r 6 [01]] [:r 7 [-1 2]] [:r 8 [1 [2]]]]}",
		"{:type :ok :process 1 :value [[:r 1 007]]}", "{:type :ok :process 1 :value [[:w 1 1234567890123456789012]]}", "{:type :ok :process 1 :value []}",
		"{:type :ok :process 1 :value [[:w 1 2]] :type :info}", "{:type :ok :process 1 :index 3 :value [[:w 1 2]]}{:type :ok :process 1 :index 3 :value [[:w 1 3]]}",
		"{:type :ok :process 1 :time 5N :value [[:w 1 2]]}", "{:type :ok :process 1 :time 99999999999999999999 :value [[:w 1 2]]}", "{:type :ok :value [[:w 1 2]]}",
		"{:type :ok :process :nemesis :value [[:w 1 2]]}", "{:value [[:w 1 2]] :process 2 :type :ok}", "{:type :invoke :process 2 :value [[:w 1 2]]}{:type :invoke :process 2 :value [[:w 1 3]]}",
		"{:type :invoke :process 2 :value [[:w 1 2]]}{:type :ok :process 2}", "{:type :invoke :process 2 :value [[:w 1 2]]}{:type :fail :process 2 :value :no}",
		"{:type :ok :process 1 :value [[:w 1 2] [:frob 1 2]]}", "{:type :ok :process 1 :value [[:append :a-b 2]]}", "{:type :ok :process 1 :value [[:w 1 nil]]}",
		"{:type :ok :process 1 :value [[:r 1]]}", "{:type :ok :process 1 :value [[:w 1 2]]", "{:type :ok :process 1 :value [[:w 1 2]}", "{:type :okay :process 1 :value [[:w 1 2]]}",
		"{:type :ok, :process 1, :f :txn, :value [[:r 1 nil], [:w 1 2]], :error :x}", "#x.y{:type :ok :process 1 :value [[:w 1 2]]}", "{:type :ok :process 1 :value [[:r nil nil]]}",
		"{:type :ok :process 1 :value [[:w :true 2] [:r :nil nil]]} 7", "{:type :ok :process 1 :value [[:r 1 nilly]]}", "{:type :ok :process 1 :value [[:r 1 nil", "{:type :ok :process 1 :value [[:r 1 [1",
		"{:type :invoke :process 2 :value 1 [[:w 1 2]]}\n{:type :ok :process 2 :value [[:w 1 2]]}", "{:type :invoke :process 2 :value :a [[:w 1 2]]}",
	} {
		got, _ := elleRead(first+text, true, 0)
		if want, _ := elleRead(first+text, false, 0); got != want {
			t.Errorf("%s\nis read as\n%s, want\n%s", text, got, want)
		}
	}
	var long strings.Builder // several batches
	for i := range 22_000 {
		fmt.Fprintf(&long, "{:type :invoke :process %d :value [[:append 1 %d]]}\n{:type :ok :process %d :value [[:append 1 %d] [:r 2 [1 2]] [:r 3 nil]]}\n", i%10, i, i%10, i)
	}
	got, _ := elleRead(long.String(), true, pieceBytes)
	if want, _ := elleRead(long.String(), false, 0); got != want || strings.Count(got, "\n") != 22_001 {
		t.Error("a history of several batches is read in two ways")
	}
	plain := 0
	for seed := range 1000 {
		rng := rand.New(rand.NewPCG(uint64(seed), 9))
		text := []byte(elleHistory(rng))
		for range rng.IntN(3) { // one byte is another one of them, is gone, or comes twice
			at := rng.IntN(len(text))
			switch rng.IntN(3) {
			case 0:
				text[at] = text[rng.IntN(len(text))]
			case 1:
				text = append(text[:at], text[at+1:]...)
			default:
				text = bytes.Join([][]byte{text[:at+1], text[at:]}, nil)
			}
		}
		got, n := elleRead(string(text), true, 0)
		if want, _ := elleRead(string(text), false, 0); got != want {
			t.Fatalf("seed %d: %s\nis read as\n%s, want\n%s", seed, text, got, want)
		}
		piece := 1 + rng.IntN(100)
		for _, plainly := range []bool{true, false} {
			if again, _ := elleRead(string(text), plainly, piece); again != got {
				t.Fatalf("seed %d: %s\nis read in pieces of %d as\n%s, want\n%s", seed, text, piece, again, got)
			}
		}
		if n > 0 {
			plain++
		}
	}
	if plain < 700 {
		t.Errorf("%d histories have plain records, want most of 1000", plain)
	}
}

// FuzzPlain: so with any text behind a transaction.
func FuzzPlain(f *testing.F) {
	const first = "{:type :invoke :process 0 :value [[:w 1 0]]}\n{:type :ok :process 0 :value [[:w 1 0]]}\n"
	f.Add("{:type :invoke, :process 10, :time 13337, :f :txn, :value [[:append 6 1] [:append 1 1]], :index 0}\n{:type :ok, :process 10, :time 13338, :f :txn, :value [[:append 6 1] [:append 1 1]], :index 1}", uint8(7))
	f.Add("{:index 1, :type :ok, :process 1, :time 26226, :f :txn, :value [[:r 0 nil] [:r 6 [1 2 3]] [:w :x 0]]}", uint8(0))
	f.Fuzz(func(t *testing.T, text string, piece uint8) {
		want, _ := elleRead(first+text, false, 0)
		for _, in := range []int{0, int(piece)} {
			if got, _ := elleRead(first+text, true, in); got != want {
				t.Errorf("is read in pieces of %d as\n%s, want\n%s", in, got, want)
			}
		}
	})
}
