package adya

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
)

// data is a kind of data that both checkers know.
type data struct {
	model string   // by adya's name
	flags []string // of adya
	lists bool
}

// kinds are lists, and registers that each transaction reads before it writes them. adya is told so.
var kinds = []data{
	{"list-append", nil, true},
	{"rw-register", []string{"--wfr-keys"}, false},
}

// random makes a history that a trial of all orders can decide.
func (d *data) random(seed uint64) oracle.History {
	return recorded(oracle.Random(rand.New(rand.NewPCG(seed, 77)), oracle.Options{
		Min: 3, Max: 7, Keys: 2, Sessions: 3, Lists: d.lists, Registers: !d.lists, Aborted: 0.08, Unknown: 0.08, Corrupt: 0.4,
	}))
}

// recorded is h as a client of Jepsen's would have it. Reads count in committed transactions only.
// Every transaction has a process, and a process ends with a transaction of unknown outcome. No two
// transactions begin or end at one time.
func recorded(h oracle.History) oracle.History {
	var bySeq []*workload.Txn
	for i := range h {
		if h[i].Status != event.Committed {
			h[i].Ops = slices.DeleteFunc(h[i].Ops, func(o workload.Op) bool { return o.Kind == event.Read })
		}
		bySeq = append(bySeq, &h[i])
	}
	slices.SortStableFunc(bySeq, func(a, b *workload.Txn) int { return cmp.Compare(a.Seq, b.Seq) })
	processes, last := map[string]int{}, []int64{}
	for _, t := range bySeq {
		p, runs := processes[t.Session]
		if !runs || t.Session == "" {
			p = len(last)
			processes[t.Session], last = p, append(last, 0)
		}
		if t.Status == event.Unknown {
			delete(processes, t.Session)
		}
		last[p]++
		t.Session, t.Seq = "s"+strconv.Itoa(p), last[p]
	}
	for at, e := range endsAndBegins(h) {
		*e.time = int64(at+1) * 1_000_000
	}
	return h
}

// instant is the begin or the end of a transaction.
type instant struct {
	txn  *workload.Txn
	time *int64
}

// endsAndBegins are those of all transactions by time, the ends first.
func endsAndBegins(h oracle.History) []instant {
	var all []instant
	for i := range h {
		all = append(all, instant{&h[i], &h[i].End})
	}
	for i := range h {
		all = append(all, instant{&h[i], &h[i].Start})
	}
	slices.SortStableFunc(all, func(a, b instant) int { return cmp.Compare(*a.time, *b.time) })
	return all
}

// jepsen is h in Jepsen's format, as lines of JSON.
func jepsen(h oracle.History) []byte {
	var text []byte
	for index, e := range endsAndBegins(h) {
		kind := "invoke"
		if e.time == &e.txn.End {
			kind = map[event.Status]string{event.Committed: "ok", event.Aborted: "fail", event.Unknown: "info"}[e.txn.Status]
		}
		value := [][]any{}
		for i := range e.txn.Ops {
			value = append(value, operation(&e.txn.Ops[i], kind == "invoke"))
		}
		process, _ := strconv.Atoi(e.txn.Session[1:])
		line, err := json.Marshal(map[string]any{"index": index, "type": kind, "f": "txn", "process": process, "time": *e.time, "value": value})
		if err != nil {
			panic(fmt.Sprint("a map of plain values: ", err))
		}
		text = append(append(text, line...), '\n')
	}
	return text
}

func operation(o *workload.Op, asked bool) []any {
	switch {
	case o.Kind == event.Append:
		return []any{"append", o.Key, o.Value}
	case o.Kind == event.Write:
		return []any{"w", o.Key, o.Value}
	case asked || o.Absent:
		return []any{"r", o.Key, nil}
	case o.IsList:
		return []any{"r", o.Key, append([]int64{}, o.List...)}
	}
	return []any{"r", o.Key, o.Value}
}

// onceEach is h without the reads of a key that their transaction has read or written before.
func onceEach(h oracle.History) oracle.History {
	h = h.Clone()
	for i := range h {
		met := map[string]bool{}
		h[i].Ops = slices.DeleteFunc(h[i].Ops, func(o workload.Op) bool {
			before := met[o.Key]
			met[o.Key] = true
			return o.Kind == event.Read && before
		})
	}
	return h
}

// duplicatesOf says whether some read shows an element twice that a transaction of this outcome appended.
func duplicatesOf(h oracle.History, status event.Status) (found bool) {
	eachRead(h, func(o *workload.Op) {
		for i, v := range o.List {
			found = found || slices.Contains(o.List[:i], v) && slices.ContainsFunc(h, func(t workload.Txn) bool {
				return t.Status == status && slices.ContainsFunc(t.Ops, func(w workload.Op) bool { return w.Kind == event.Append && w.Key == o.Key && w.Value == v })
			})
		}
	})
	return found
}

// someUnread says whether no read shows several appends to one list.
func someUnread(h oracle.History) bool {
	shown, unread := map[int64]bool{}, map[string]int{}
	eachRead(h, func(o *workload.Op) {
		for _, v := range o.List {
			shown[v] = true
		}
	})
	for i := range h {
		for _, o := range h[i].Ops {
			if o.Kind == event.Append && !shown[o.Value] {
				unread[o.Key]++
			}
		}
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(unread)), func(n int) bool { return n > 1 })
}

// eachRead calls fn with the reads that do not follow a write of their transaction to their key.
func eachRead(h oracle.History, fn func(o *workload.Op)) {
	for i := range h {
		own := map[string]bool{}
		for j := range h[i].Ops {
			o := &h[i].Ops[j]
			if own[o.Key] = own[o.Key] || o.Kind != event.Read; !own[o.Key] {
				fn(o)
			}
		}
	}
}
