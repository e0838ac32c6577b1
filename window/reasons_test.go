package window

import (
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
)

// A level that only the contract leaves unknown is told from one that something else leaves so.
func TestOpenByContract(t *testing.T) {
	const (
		whole     = `{"txn":"T1","session":"a","seq":1,"start":1,"end":2,"status":"committed","ops":[{"op":"w","key":"x","value":1}]}`
		reads     = `{"txn":"T2","session":"b","seq":1,"start":3,"end":4,"status":"committed","ops":[{"op":"r","key":"x","value":1}]}`
		stranger  = `{"txn":"T3","session":"c","seq":1,"start":5,"end":6,"status":"committed","ops":[{"op":"r","key":"y","value":7}]}`
		nothing   = `{"txn":"T4","session":"d","seq":1,"start":7,"end":8,"status":"committed","ops":[{"op":"r","key":"x","found":false}]}`
		again     = `{"txn":"T5","session":"e","seq":1,"start":1,"end":2,"status":"committed","ops":[{"op":"w","key":"x","value":1}]}`
		adds      = `{"txn":"A1","session":"j","seq":1,"start":1,"end":2,"status":"committed","ops":[{"op":"inc","key":"n","value":1},{"op":"inc","key":"n","value":-1}]}`
		total     = `{"txn":"A2","session":"k","seq":1,"start":3,"end":4,"status":"committed","ops":[{"op":"r","key":"n","kind":"counter","value":0}]}`
		bad       = `{"txn":`
		loses     = `{"txn":"T6","session":"f","seq":1,"start":3,"end":6,"status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":8}]}`
		losesToo  = `{"txn":"T7","session":"g","seq":1,"start":3,"end":6,"status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":9}]}`
		asksLess  = `{"txn":"T8","session":"h","seq":1,"start":9,"end":10,"status":"committed","isolation":"read committed","ops":[{"op":"w","key":"v","value":1}]}`
		isChecked = `{"txn":"T9","session":"i","seq":1,"start":9,"end":10,"status":"committed","ops":[{"op":"w","key":"later","value":1}]}`
	)
	complete, partial := Contract{Complete: true}, Contract{}
	live := Contract{Existing: true, UnmonitoredWriters: true, DeletesUnseen: true, Observed: true}
	for name, c := range map[string]struct {
		contract Contract
		lines    []string
		verdict  string
		open     bool
	}{
		"all known":                        {complete, []string{whole, reads}, OK, false},
		"partial":                          {partial, []string{whole, reads}, Unknown, true},
		"a writer that is not captured":    {partial, []string{whole, reads, stranger}, Unknown, true},
		"one that may have deleted":        {live, []string{whole, reads, nothing}, Unknown, true},
		"a value twice, as may be":         {live, []string{whole, again, reads}, Unknown, true},
		"counters":                         {partial, []string{adds, total}, Unknown, false},
		"a bad record":                     {partial, []string{whole, reads, bad}, Unknown, false},
		"a transaction that asks for less": {partial, []string{whole, reads, asksLess}, Unknown, false},
		"a violation":                      {live, []string{whole, loses, losesToo}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			level := isolation.Level{Base: isolation.Serializable}
			m := New(Config{
				Levels: []isolation.Level{{Base: isolation.SnapshotIsolation}, level}, Expect: level, Named: true, Contract: c.contract,
				Window: For(time.Minute), Lateness: For(time.Second), Pane: time.Second,
			})
			var eff Effects
			var d event.Decoder
			var panes []Pane
			for _, line := range append(c.lines, isChecked) {
				if line == bad {
					m.BadRecords(1)
					continue
				}
				b := event.Batch{Partitions: []string{"p"}}
				d.Decode(&b, event.Position{}, []byte(line))
				m.Step(&b, []int32{0}, 0, &eff)
				panes = append(panes, eff.Panes...)
			}
			verdict, why := m.Verdict(level)
			if c.verdict != "" && verdict != c.verdict {
				t.Fatalf("%s: %s", verdict, why)
			}
			if got := m.OpenByContract(level); got != c.open {
				t.Errorf("%v of %s: %s", got, verdict, why)
			}
			m.Close(&eff)
			for _, p := range append(panes, eff.Panes...) {
				if got := slices.Contains(p.ByContract, level.String()); p.Transactions > 0 && got != c.open {
					t.Errorf("a pane: %v of %v", p.ByContract, p.Verdicts)
				}
			}
		})
	}
}
