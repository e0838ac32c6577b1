package window

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

// TestLosesTrack: where conflicts are tracked among serializable transactions, a write skew over
// appends that nobody read falls as soon as somebody may append unseen: a transaction that asks for
// less, or one without a record.
func TestLosesTrack(t *testing.T) {
	skew := []string{
		`{"txn":"T0","start":0,"end":1,"status":"committed","ops":[{"op":"append","key":"x","value":9},{"op":"append","key":"y","value":9}]}`,
		`{"txn":"T1","start":1,"end":9,"status":"committed","ops":[{"op":"r","key":"x","value":[9]},{"op":"r","key":"y","value":[9]},{"op":"append","key":"y","value":1}]}`,
		`{"txn":"T2","start":2,"end":8,"status":"committed","ops":[{"op":"r","key":"x","value":[9]},{"op":"r","key":"y","value":[9]},{"op":"append","key":"x","value":1}]}`,
	}
	for _, c := range []struct {
		name, third string
		tracked     bool
		strangers   bool // from the third record on
		falls       bool
	}{
		{"one that asks for as much", `"isolation":"serializable"`, true, false, false},
		{"one that asks for less", `"isolation":"read committed"`, true, false, true},
		{"writers without a record", `"isolation":"serializable"`, true, true, true},
		{"another product", `"isolation":"read committed"`, false, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{
				Levels: []isolation.Level{{Base: isolation.SnapshotIsolation}, {Base: isolation.Serializable}}, Named: true,
				Contract: Contract{Complete: true}, Window: For(time.Minute), Lateness: For(time.Second),
			}
			cfg.Rules.Tracked = c.tracked
			m := New(cfg)
			var eff Effects
			var d event.Decoder
			step := func(line string) {
				b := event.Batch{Partitions: []string{"p"}}
				d.Decode(&b, event.Position{}, []byte(line))
				m.Step(&b, []int32{0}, 0, &eff)
			}
			for _, line := range skew {
				step(line)
			}
			if len(eff.Findings) == 0 || eff.Findings[0].Anomaly != "G2-item" {
				t.Fatalf("the skew was not found: %v", eff.Findings)
			}
			if c.strangers {
				cfg.Contract.UnmonitoredWriters = true
				if err := m.Configure(cfg); err != nil {
					t.Fatal(err)
				}
			}
			step(`{"txn":"T3","start":20,"end":21,"status":"committed",` + c.third + `,"ops":[{"op":"r","key":"z","value":[]}]}`)
			fell := slices.ContainsFunc(eff.Findings, func(f finding.Finding) bool { return f.State == finding.Withdrawn })
			if verdict, why := m.VerdictAsAsked(isolation.Level{Base: isolation.Serializable}); fell != c.falls || (verdict == Violated) == c.falls {
				t.Errorf("withdrawn: %v, want %v; %s: %s", fell, c.falls, verdict, why)
			}
			if err := m.Check(); err != nil {
				t.Error(err)
			}
		})
	}
	if why := tellingOnlyOne(t); !strings.Contains(why, "watch it too") {
		t.Errorf("serializability alone: %q", why)
	}
}

// tellingOnlyOne is why serializability is not known of a mixed stream at which nothing else is watched.
func tellingOnlyOne(t *testing.T) string {
	cfg := Config{Levels: []isolation.Level{{Base: isolation.Serializable}}, Named: true, Unbounded: true, Contract: Contract{Complete: true, Existing: true}}
	cfg.Rules.Tracked = true
	m, _ := check(t, cfg, `{"txn":"T1","status":"committed","isolation":"read committed","ops":[{"op":"append","key":"x","value":1}]}`)
	_, why := m.VerdictAsAsked(isolation.Level{Base: isolation.Serializable})
	return why
}

// TestConflictShownLate: a write skew over appends is none while an untracked append may stand
// between. When a read shows that none did, both have left the window: serializability is unknown.
func TestConflictShownLate(t *testing.T) {
	cfg := Config{
		Levels: []isolation.Level{{Base: isolation.SnapshotIsolation}, {Base: isolation.Serializable}}, Named: true,
		Contract: Contract{Complete: true}, Window: For(time.Millisecond), Lateness: For(time.Microsecond),
	}
	cfg.Rules.Tracked = true
	for _, c := range []struct {
		name, level, want string // level: what the first one asks for
	}{
		{"one asks for less", "read committed", Unknown},
		{"all are tracked", "serializable", Violated},
	} {
		m, _ := check(t, cfg,
			`{"txn":"T0","start":1,"end":2,"status":"committed","isolation":"`+c.level+`","ops":[{"op":"w","key":"z","value":1}]}`+"\n"+
				`{"txn":"T1","start":3,"end":9,"status":"committed","ops":[{"op":"r","key":"x","value":[]},{"op":"append","key":"y","value":1}]}`+"\n"+
				`{"txn":"T2","start":4,"end":8,"status":"committed","ops":[{"op":"r","key":"y","value":[]},{"op":"append","key":"x","value":1}]}`+"\n"+
				`{"txn":"T3","start":5000000,"end":5000001,"status":"committed","ops":[{"op":"w","key":"q","value":1}]}`+"\n"+
				`{"txn":"T4","start":9000000,"end":9000001,"status":"committed","ops":[{"op":"r","key":"x","value":[1]},{"op":"r","key":"y","value":[1]}]}`)
		if verdict, why := m.VerdictAsAsked(isolation.Level{Base: isolation.Serializable}); verdict != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, verdict, why, c.want)
		}
	}
}
