package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/pulse"
	"github.com/isowatch/isowatch/internal/web"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// rates keeps the numbers of transactions of the last minute, by source.
type rates struct {
	mu      sync.Mutex
	samples []sample             // the oldest first
	came    map[string]time.Time // when records of a source had come, by the samples
}

type sample struct {
	at    time.Time
	count map[string]int64
}

const (
	sampleEvery = 10 * time.Second
	maxSamples  = 7 // a minute
)

func transactions(c *window.Counters) int64 { return c.Committed + c.Aborted + c.Unknown }

// take notes a status.
func (r *rates) take(at time.Time, s *engine.Status) {
	x := sample{at, make(map[string]int64, len(s.Sources))}
	for i := range s.Sources {
		x.count[s.Sources[i].Source] = transactions(&s.Sources[i].Counters)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.samples); n > 0 {
		if r.came == nil {
			r.came = map[string]time.Time{}
		}
		for source, count := range x.count {
			if count != r.samples[n-1].count[source] {
				r.came[source] = at
			}
		}
	}
	if r.samples = append(r.samples, x); len(r.samples) > maxSamples {
		r.samples = slices.Delete(r.samples, 0, 1)
	}
}

// lastCame is when the latest record of a source came, within the distance of two samples; zero: none did since the start.
func (r *rates) lastCame(source string) time.Time {
	if r == nil {
		return time.Time{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.came[source]
}

// of is the source's transactions a second since the oldest sample; -1 before the first one.
func (r *rates) of(source string, at time.Time, count int64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.samples) == 0 {
		return -1
	}
	x := &r.samples[0]
	took := at.Sub(x.at).Seconds()
	if took < 1 {
		return -1
	}
	return float64(max(count-x.count[source], 0)) / took
}

// sampleRates takes samples until the app stops.
func (a *App) sampleRates(context.Context) error {
	if a.listener == nil {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		a.rates.take(a.options.Now(), a.Status())
		tick := time.NewTimer(pulse.Next(sampleEvery))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tick.Reset(pulse.Next(sampleEvery))
				a.rates.take(a.options.Now(), a.Status())
			case <-ctx.Done():
				return
			}
		}
	})
	a.cleanups.push("rates of sources", func(context.Context) error { stop(); done.Wait(); return nil })
	return nil
}

// overview is the state of all sources, for the first page. The worst ones come first.
func (a *App) overview(span time.Duration, skip int) web.Overview {
	now := a.options.Now()
	long := int64(span) / web.Parts
	to := (now.UnixNano()/long + 1) * long
	o := web.Overview{From: time.Unix(0, to-int64(span)), To: time.Unix(0, to)}
	s := a.Status()
	var sources []*engine.SourceStatus
	for i := range s.Sources {
		if s.Sources[i].Source != config.SelfTestSource {
			sources = append(sources, s.Sources[i])
		}
	}
	for _, name := range a.current.Load().SourceNames() { // it has sent nothing yet
		silent := !slices.ContainsFunc(sources, func(x *engine.SourceStatus) bool { return x.Source == name })
		if silent && name != config.SelfTestSource && (name != config.DefaultSource || len(sources) == 0) {
			sources = append(sources, &engine.SourceStatus{Source: name})
		}
	}
	o.Total = len(sources)
	o.Found = a.shelf.count((chartEnd(sources, now, span)/long+1)*long, long)
	slices.SortStableFunc(sources, func(x, y *engine.SourceStatus) int {
		return cmp.Or(cmp.Compare(a.gravity(y), a.gravity(x)), cmp.Compare(x.Source, y.Source))
	})
	sources = sources[min(skip, len(sources)):]
	sources = sources[:min(len(sources), web.SourcesOnPage)]
	deadline, read := now.Add(stripPatience), allRead(a.inputs)
	open := a.openViolations(sources, now, span)
	for _, x := range sources {
		view, all := a.sourceView(x, read, now, span, deadline, open[x.Source])
		o.Sources = append(o.Sources, view)
		o.Reading = o.Reading || !all
	}
	for _, i := range a.inputs {
		h := i.health()
		o.Inputs = append(o.Inputs, web.Input{Name: h.name, Up: h.up, CaughtUp: h.caughtUp, Troubles: i.told(), Lost: i.hasLost(), Waits: h.unmatched, Patterns: h.patterns})
	}
	return o
}

// gravity orders sources by what a person should look at first.
func (a *App) gravity(x *engine.SourceStatus) int {
	switch v := x.Verdicts[a.watchOf(x.Source).Expect.String()]; {
	case x.Stopped != "":
		return 3
	case v.Verdict == window.Violated:
		return 2
	case unmarked(x):
		return 1
	case v.Verdict == window.OK, healthy(x, v):
		return 0
	}
	return 1
}

// unmarked says of a source whose records have times that its watermark has not begun. An input has not answered yet.
// So nothing is judged that a late record could explain.
func unmarked(x *engine.SourceStatus) bool {
	return x.Watermark == 0 && x.Latest > 0
}

// allRead says whether all inputs can be read, and were read to their ends.
func allRead(inputs []*input) bool {
	return !slices.ContainsFunc(inputs, func(i *input) bool { h := i.health(); return !h.up || !h.caughtUp })
}

// behind is how far the watermark of a source is behind the clock. Where all was read it is how far that was behind
// when the latest record came: a source without new records is not behind.
func behind(x *engine.SourceStatus, came time.Time, read bool, now time.Time) time.Duration {
	if x.Watermark <= 0 {
		return 0
	}
	return max(latest(x, came, read, now).Sub(time.Unix(0, x.Watermark)), 0)
}

// latest is up to when a source could have been checked, whose latest record came then.
func latest(x *engine.SourceStatus, came time.Time, read bool, now time.Time) time.Time {
	if ends := time.Unix(0, x.Latest); ends.After(came) {
		came = ends
	}
	if read && x.Latest > 0 && came.Before(now) {
		return came
	}
	return now
}

// idleAfter is how long a source has no record until it is called idle.
const idleAfter = 3 * sampleEvery

// idleFor is how long a source has had no new record although all was read; 0: it is not idle.
func idleFor(x *engine.SourceStatus, came time.Time, read bool, now time.Time) time.Duration {
	if idle := now.Sub(latest(x, came, read, now)); idle >= idleAfter {
		return idle
	}
	return 0
}

// halfDecided is the least share of reads with which an unknown source can look healthy: with fewer, no violation means little.
const halfDecided = 0.5

// healthy says of an unknown level that only the contract leaves it open, and that most reads are decided.
func healthy(x *engine.SourceStatus, v engine.Verdict) bool {
	return v.ByContract && x.Reads.Reads > 0 && x.Reads.Share >= halfDecided
}

// sourceView says how a source fares. open are violations of panes that are not closed. all is false where parts of its
// strips were not read.
func (a *App) sourceView(x *engine.SourceStatus, read bool, now time.Time, span time.Duration, deadline time.Time, open []refuting) (view web.Source, all bool) {
	watch := a.watchOf(x.Source)
	expect := watch.Expect.String()
	n := transactions(&x.Counters)
	view = web.Source{
		Name: x.Source, Expected: watch.Expected(), Verdict: x.Verdicts[expect].Verdict, Reason: cmp.Or(x.Stopped, x.Verdicts[expect].Reason),
		Stopped: x.Stopped != "", Transactions: n, Rate: a.rates.of(x.Source, now, n), Timed: x.Watermark > 0, Live: x.Live,
		ByContract: healthy(x, x.Verdicts[expect]), Unmarked: unmarked(x),
	}
	if n == 0 && view.Reason == "" {
		view.Reason = "no record of it has come yet"
	}
	if view.Timed {
		came := a.rates.lastCame(x.Source)
		view.Lag, view.Idle = behind(x, came, read, now), idleFor(x, came, read, now)
	}
	if x.Reads.Reads > 0 {
		view.Decided = x.Reads.Percent()
	}
	for _, w := range x.Reads.Why {
		view.Undecided = append(view.Undecided, whole.Plural(w.Reads, "read", "reads")+": "+w.Text)
	}
	for _, anomaly := range slices.Sorted(maps.Keys(x.Findings)) {
		if found := x.Findings[anomaly].Violating; found > 0 && n > 0 && isolation.RefutesLevels(anomaly) {
			view.PerMillion = append(view.PerMillion, web.Rate{Anomaly: anomaly, Found: found, Million: float64(found) / float64(n) * 1e6})
		}
	}
	slices.SortStableFunc(view.PerMillion, func(x, y web.Rate) int { return cmp.Compare(y.Found, x.Found) })
	all = true
	var parts [web.Parts]cell
	view.Closes = closesAfter(watch)
	end, long := stripEnd(x, now, span), int64(span)/web.Parts
	if view.Timed || view.Unmarked {
		view.Strips = time.Unix(0, stripBegin(end, long))
		parts, all = a.strips.of(x.Source, end, long, deadline, a.options.Now)
	}
	levels := []string{expect}
	for _, l := range isolation.AllLevels() {
		if _, watched := x.Verdicts[l.String()]; watched && l.String() != expect {
			levels = append(levels, l.String())
		}
	}
	for _, name := range levels {
		v := x.Verdicts[name]
		l := web.Level{Name: name, Verdict: cmp.Or(v.Verdict, "not known yet"), Reason: v.Reason}
		switch {
		case view.Unmarked && l.Verdict != string(window.Violated):
			l.Verdict, l.Reason = "not known yet", "an input has not answered yet"
		case healthy(x, v):
			l.Verdict = "no violation found"
		}
		for i, c := range parts {
			l.Cells[i] = c[name]
		}
		if view.Timed || view.Unmarked { // without a watermark, at least what a window holds is in work
			inWork(&l, min(cmp.Or(x.Watermark, x.Latest), now.UnixNano()), end, long, int64(view.Closes))
		}
		if l.Verdict == string(window.Violated) {
			markOpen(&l, open, stripBegin(end, long), long)
		}
		view.Levels = append(view.Levels, l)
	}
	return view, all
}

// mostTold troubles of an input are told, and as many losses.
const mostTold = 5

// told are the troubles of an input.
func (i *input) told() (all []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, partition := range slices.Sorted(maps.Keys(i.troubles)) {
		if len(all) == mostTold {
			return append(all, fmt.Sprintf("and %d more", len(i.troubles)-mostTold))
		}
		all = append(all, partition+": "+i.troubles[partition])
	}
	return all
}

// hasLost says which records an input has lost since the start. Each source that may have records in it counts them.
func (i *input) hasLost() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := slices.Clone(i.lost)
	if more := i.losses - len(all); more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return all
}

// chartEnd is the instant with which the chart of findings ends: now, or the latest record where all records are older than
// the span. The watermark does not count, since it follows the clock where no more records come.
func chartEnd(sources []*engine.SourceStatus, now time.Time, span time.Duration) (end int64) {
	for _, x := range sources {
		if x.Latest == 0 && transactions(&x.Counters) == 0 { // nothing of it has come
			continue
		}
		if x.Latest == 0 || x.Latest >= now.UnixNano()-int64(span) { // it has no times, or records of the span
			return now.UnixNano()
		}
		end = max(end, x.Latest)
	}
	return cmp.Or(end, now.UnixNano())
}

// count counts the findings by anomaly, in parts of this length up to an instant, without the self-test.
func (s *shelf) count(to, long int64) web.Found {
	s.mu.RLock()
	defer s.mu.RUnlock()
	from := to - long*web.Parts
	found := s.catalog.Count(catalog.Query{Except: config.SelfTestSource}, from, to, web.Parts)
	return web.Found{From: time.Unix(0, from), To: time.Unix(0, to), Series: found}
}
