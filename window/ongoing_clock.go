package window

import "slices"

// ongoingClock counts the minutes between revisions: the wall clock, or event time where there
// is none. Sources without either are told at the end.
func (k *clock) ongoingClock(o *ongoing) int64 {
	switch {
	case k.tick > 0:
		return k.tick
	case k.untimed:
		return o.ToldAt
	}
	return o.Last
}

// hasEnded says whether the group had an hour of event time without another one, by the watermark.
// The watermark goes on by the wall clock too, while old records pause. So the records of all
// partitions must have gone on for an hour, or the wall clock.
func (k *clock) hasEnded(o *ongoing) bool {
	if k.watermark-o.Last < ongoingResolved {
		return false
	}
	behind := func(p partition) bool { return p.Seen && p.Standing != Left && p.Max-o.Last < ongoingResolved }
	return k.tick == 0 || !slices.ContainsFunc(k.partitions, behind) || k.tick-o.LastTick >= ongoingResolved
}
