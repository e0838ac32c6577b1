package whole

import (
	"slices"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// MachineConfig is the machine's share of w.
func MachineConfig(w *config.Watch) window.Config {
	levels := checked(w.Levels, false)
	if !slices.Contains(levels, w.Expect) {
		levels = checked(append(levels, w.Expect), false) // pages and metrics show its verdict
	}
	return window.Config{
		Levels:     levels,
		Named:      w.Named,
		Expect:     w.Expect,
		Product:    w.Product(),
		Setting:    w.Setting,
		Rules:      isolation.RulesOf(w.Setting),
		Contract:   machineContract(w.Contract),
		Sessions:   w.Sessions,
		Patterns:   w.Patterns,
		Window:     window.For(w.Window.Duration),
		WindowTxns: w.Window.Txns,
		Lateness:   window.For(w.Lateness),
		MaxTxn:     w.MaxTransaction,
		Idle:       w.Idle,
		Pane:       w.Pane,
		LiveCap:    w.LiveCap,
		KeyCap:     w.KeyCap,
		Clamp:      true,
	}
}

// machineContract is c as the machine takes it.
func machineContract(c config.Contract) window.Contract {
	return window.Contract{
		Complete: c.Complete, Existing: c.Existing, UnmonitoredWriters: c.UnmonitoredWriters,
		DeletesUnseen: c.DeletesUnseen, ClockDrift: c.ClockDrift,
		ByVersion: c.ByVersion, Observed: c.Observed, NumericVersions: c.NumericVersions, TrustCommitTS: c.TrustCommitTS,
		SequentialKeys: c.SequentialKeys, LinearizableKeys: c.LinearizableKeys, IgnoreIsolation: c.IgnoreIsolation,
		Begins: c.Begins, ClosedSessions: c.ClosedSessions,
	}
}

// checked are the levels to check for judging the levels asked for: the same, and others beside
// some of them. Beside a level without an encoding come those that are watched by default.
// Violations of a weaker level show as cycles in the order of a stronger one. Beside a level
// that only whole histories are decided at come its neighbours.
func checked(asked []isolation.Level, whole bool) []isolation.Level {
	levels := slices.Clone(asked)
	for _, l := range asked {
		beside := l.Neighbours()
		if _, ok := l.View(); !ok {
			beside = isolation.Watched()
		} else if whole || beside == nil {
			continue
		}
		for _, w := range beside {
			if !slices.Contains(levels, w) {
				levels = append(levels, w)
			}
		}
	}
	return levels
}
