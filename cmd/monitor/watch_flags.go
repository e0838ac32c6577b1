package main

import (
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/internal/config"
)

const showValuesUsage = "findings show values; false: hashes in place of them, also in reports"

// watchFlags are the flags of everything that checks.
func watchFlags(f *pflag.FlagSet, w *config.Watch) {
	f.Var(levelsValue{w, new([]string)}, "levels", "levels that get a verdict; default and all stand for several levels")
	f.Var(windowValue{&w.Window}, "window", "how long transactions are kept for comparison; for records without times a number, such as \"5000 txns\"")
	f.DurationVar(&w.Lateness, "lateness", w.Lateness, "how late a record may come, compared with the latest record")
	f.DurationVar(&w.MaxTransaction, "max-transaction", w.MaxTransaction, "longest time that a transaction takes; one that is open for longer gets the outcome unknown")
	f.IntVar(&w.LiveCap, "live-cap", w.LiveCap, "most transactions in the window; with more, the window shrinks")
	f.Var(contractValue{&w.Contract, new([]string)}, "contract", "what the monitor may assume of the records, such as that none is missing (docs/semantics.md)")
	f.StringSliceVar(&w.Patterns, "patterns", nil, "patterns of keys, such as acct/#/balance, in addition to those that the monitor finds")
	f.BoolVar(&w.ShowValues, "show-values", w.ShowValues, showValuesUsage)
	f.StringSliceVar(&w.Sessions, "sessions", nil, "all sessions, for a contract with sessions=closed")
}

// liveFlags are the flags of what watches while records come in.
func liveFlags(f *pflag.FlagSet, w *config.Watch) {
	watchFlags(f, w)
	f.Var(expectValue{w}, "expect", "level that the database promises; anomalies that it allows raise no alert")
	f.DurationVar(&w.Idle, "idle", w.Idle, "other inputs stop waiting for an input that has been silent for this time")
	f.IntVar(&w.KeyCap, "key-cap", w.KeyCap, "how many unused keys and sessions stay in memory, while others go to disk; 0: all stay in memory")
	f.DurationVar(&w.Pane, "pane", w.Pane, "length of a pane, a stretch of time with a verdict of its own")
}
