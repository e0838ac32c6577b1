package main

import (
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/config"
)

// watchFlags are the flags of everything that checks.
func watchFlags(f *pflag.FlagSet, w *config.Watch) {
	f.Var(levelsValue{w, new([]string)}, "levels", "levels that verdicts are given on; default and all stand for several")
	f.Var(windowValue{&w.Window}, "window", "how long transactions are kept for comparison; for records without times a number, such as \"5000 txns\"")
	f.DurationVar(&w.Lateness, "lateness", w.Lateness, "how far behind the latest record another one may come")
	f.DurationVar(&w.MaxTransaction, "max-transaction", w.MaxTransaction, "the longest transaction; what is open for longer has an unknown outcome")
	f.IntVar(&w.LiveCap, "live-cap", w.LiveCap, "transactions kept at most; beyond it the window shrinks")
	f.Var(contractValue{&w.Contract, new([]string)}, "contract", "what is known of the capture")
	f.StringSliceVar(&w.Patterns, "patterns", nil, "patterns of keys, such as acct/#/balance, beside those that are found out")
	f.StringSliceVar(&w.Sessions, "sessions", nil, "all sessions that there are, where the contract says sessions=closed")
}

// liveFlags are the flags of what watches while records come in.
func liveFlags(f *pflag.FlagSet, w *config.Watch) {
	watchFlags(f, w)
	f.Var(expectValue{w}, "expect", "level that the database promises; what it allows raises no alert")
	f.DurationVar(&w.Idle, "idle", w.Idle, "an input that is silent for longer holds the others up no more")
	f.IntVar(&w.KeyCap, "key-cap", w.KeyCap, "keys, and sessions, that stay in memory when nobody uses them; others go to disk; 0: all stay")
	f.DurationVar(&w.Pane, "pane", w.Pane, "length of the stretches of time that get a verdict each")
}
