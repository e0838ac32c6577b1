package window

import (
	"slices"

	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/trial"
)

// Why no order in time is followed. The texts are saved with the state.
const (
	offContract     = "the contract leaves something open" // the causes of open reads say what
	offMissing      = "a record is missing or bad"
	offTimeless     = "a record has no times"
	offCrowded      = "too many transactions began within `max-transaction`"
	offMemory       = "the state takes more than `memory` leaves to it"
	offLate         = "a record came too late"
	offReplaced     = "an outcome became known too late"
	offContradicted = "two records of one id contradict each other, or the second one came too late"
	offIdle         = "no read needed one among the first 4,096 transactions"
	offBefore       = "the folder is of an earlier version"
)

// offRemedies say what a person can do, if anything.
var offRemedies = map[string]string{
	offMissing:          "capture all records, and start with a new folder",
	offTimeless:         "record `start` and `end` with all transactions",
	offCrowded:          "declare a shorter --max-transaction",
	offMemory:           "give more with --memory, or declare a shorter --window",
	offLate:             "declare a longer --lateness or --max-transaction",
	offReplaced:         "declare a longer --max-transaction",
	offContradicted:     "give each attempt an id of its own",
	offIdle:             "start with a new folder",
	offBefore:           "start with a new folder",
	trial.SeveralEpochs: "start each epoch with a new folder",
	trial.OtherKinds:    "use each key as one kind, and give keys that are not a source of their own",
	trial.ManyKeys:      "split the stream into sources that share no key and no transaction",
	trial.SeqAndTime:    "record the times of one clock in a session",
}

// unfollowed says why no order in time shows the level, and what to do. It is empty while one may
// yet, and where the other causes say what the contract leaves open.
func (g *timing) unfollowed(l isolation.Level) string {
	x := &g.told
	why := x.Off
	if why == "" {
		var failed []*trial.Follower
		for _, f := range x.Followers {
			if g.strongest(isolation.Base(f.Base), true).Implies(l) {
				failed = append(failed, f)
			}
		}
		if len(failed) == 0 || slices.ContainsFunc(failed, func(f *trial.Follower) bool { return f.Failed == "" }) {
			return ""
		}
		why = failed[0].Failed
	}
	if why == offContract {
		return ""
	}
	text := ". An order in time could decide them, and none is followed: " + why
	if why == trial.NoOrder {
		text = ". No order in time that was followed explains all reads"
		if g.cfg.Contract.ClockDrift > 0 {
			text += ". A shorter clock-drift leaves fewer to follow"
		}
	}
	if do := offRemedies[why]; do != "" {
		text += ". To have one, " + do
	}
	return text
}
