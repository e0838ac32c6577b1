package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
)

// A replay answers a horizon finding by the expected level alone. It is violated where a violation of
// that level rests on a transaction that the finding names: another one says nothing of the finding's
// edges. It is ok where three things hold. The range was read as a whole. It holds no violation of
// that level. It holds the writers of all values that the named transactions read: otherwise a cycle
// may run through a missing transaction. In between the finding stays open.

// answer is the finding as the range closes it, or why it stays open.
func (p *replaying) answer(r *Replayed) (closed *finding.Finding, why string) {
	expect := p.Config.Watch.Expect
	var resting, others, allowed []*finding.Finding
	for i := range p.history.Findings {
		f := &p.history.Findings[i]
		switch {
		case f.Kind != finding.KindViolation || f.State == finding.Withdrawn || !f.Certain || f.Source != p.source():
		case !whole.RefutesAny(f.Refutes, []isolation.Level{expect}):
			allowed = append(allowed, f)
		case p.restsOnNamed(f):
			resting = append(resting, f)
		default:
			others = append(others, f)
		}
	}
	if len(resting) > 0 {
		return p.violated(resting), ""
	}
	undecided := p.undecided(r)
	if len(others) > 0 {
		undecided = append(undecided, fmt.Sprintf("the range holds %s of %s, but without a transaction that the finding names: see finding %s",
			whole.Plural(int64(len(others)), "violation", "violations"), expect, others[0].ID))
	}
	if len(undecided) > 0 {
		return nil, strings.Join(undecided, "; ")
	}
	f := p.closed(finding.ResolvedOK)
	f.Explanation = fmt.Sprintf("The whole range was read (%s). It has the writers of all that the named transactions read, and no violation of %s.",
		whole.Plural(r.Transactions, "transaction", "transactions"), expect)
	if len(allowed) > 0 {
		f.Explanation += fmt.Sprintf(" It holds %s of other levels, which %s allows: see finding %s.",
			whole.Plural(int64(len(allowed)), "violation", "violations"), expect, allowed[0].ID)
	}
	return f, ""
}

// source is the one that the finding is about.
func (p *replaying) source() string {
	return cmp.Or(p.Config.Source, p.Config.DefaultSource, event.DefaultSource)
}

// closed is the finding in that state.
func (p *replaying) closed(state finding.State) *finding.Finding {
	c, name := &p.Config, isolation.NameOf(infer.RetiredRead)
	return &finding.Finding{
		ID: c.Finding, Source: p.source(), Epoch: c.Epoch, Kind: name.Kind, State: state, Certain: true, Hidden: p.history.HideKey != "",
		Anomaly: name.Anomaly, Title: name.Title,
		Txns: append([]string{}, c.Txns...), Refutes: []string{}, AlsoRefutes: []string{},
	}
}

// violated closes the finding by what rests on its transactions.
func (p *replaying) violated(resting []*finding.Finding) *finding.Finding {
	f := p.closed(finding.ResolvedViolated)
	var weakest []isolation.Level
	for _, x := range resting {
		for _, text := range x.Refutes {
			if l, err := isolation.ParseLevel(text); err == nil && !slices.Contains(weakest, l) {
				weakest = append(weakest, l)
			}
		}
	}
	isolation.SetRefuted(f, weakest, p.Config.Watch.Expect)
	which := "The first is"
	if len(resting) == 1 {
		which = "It is"
	}
	n := whole.Plural(int64(len(resting)), "violation", "violations")
	// In one piece: what stands before a blank line and "Let:" is taken for a headline.
	f.Explanation = fmt.Sprintf("The replayed range holds %s of %s with transactions that this finding names.\n%s finding %s: %s",
		n, p.Config.Watch.Expect, which, resting[0].ID,
		strings.Replace(resting[0].Explanation, "\n\nLet:\n", "\nLet:\n", 1))
	return f
}

// restsOnNamed says whether a transaction that the horizon finding names is in the
// cycle of f, or shown as what proves one of its edges.
func (p *replaying) restsOnNamed(f *finding.Finding) bool {
	c := &p.Config
	if f.Epoch != c.Epoch {
		return false
	}
	named := func(id string) bool { return slices.Contains(c.Txns, id) }
	if slices.ContainsFunc(f.Txns, named) {
		return true
	}
	return slices.ContainsFunc(f.History, func(record json.RawMessage) bool {
		var x struct{ Txn string }
		return json.Unmarshal(record, &x) == nil && named(x.Txn)
	})
}

// undecided says why a range does not answer the finding though no violation in it rests on the named
// transactions.
func (p *replaying) undecided(r *Replayed) (why []string) {
	for _, x := range []struct {
		n         int64
		one, many string
	}{
		{r.Counters.DeadLetters, "bad record", "bad records"},
		{int64(len(p.lost)), "piece of the input is lost", "pieces of the input are lost"},
		{p.missing(r), "record of a session is missing", "records of sessions are missing"},
		{r.Counters.Contradict, "record contradicts another", "records contradict others"},
		{r.Untimed, "record has no times", "records have no times"},
		{r.Counters.Horizon, "dependency on a transaction that had left the window", "dependencies on transactions that had left the window"},
		{r.Counters.Unverified, "proof that could not be verified", "proofs that could not be verified"},
		{r.Counters.LeftOutEdges, "dependency that was left out to save memory", "dependencies that were left out to save memory"},
	} {
		if x.n > 0 {
			why = append(why, whole.Plural(x.n, x.one, x.many))
		}
	}
	for i := range p.history.Findings {
		if f := &p.history.Findings[i]; f.Kind == finding.KindViolation && f.State != finding.Withdrawn && !f.Certain {
			why = append(why, "there are uncertain findings, which a missing record could explain")
			break
		}
	}
	if c := &p.Config; c.From.Kind == config.Unbounded && len(c.Files) > 0 && c.Watch.Contract.Existing {
		why = append(why, "files do not tell what was before their beginning: declare --contract start=empty if nothing was")
	}
	if r.Transactions == 0 {
		why = append(why, "there are no transactions in the range")
	}
	for _, l := range p.Config.Watch.Levels {
		if _, checked := l.View(); !checked {
			why = append(why, l.String()+" is not decided by a range")
		}
	}
	return append(why, p.unread()...)
}

// missing are the records that the sessions' own numbers show to be missing.
func (p *replaying) missing(r *Replayed) int64 {
	n := r.Counters.Gaps
	for _, g := range p.lost {
		n -= max(1, g.To-g.From) * int64(len(p.history.Sources)) // as Machine.Lose counts it
	}
	return n
}

// unread says which named transactions, and which writers of the values they read, are not in the
// range.
func (p *replaying) unread() (why []string) {
	c := &p.Config
	m := p.history.Machine(p.source())
	if len(c.Txns) == 0 {
		why = append(why, "no transaction is named: --txn")
	}
	for _, id := range c.Txns {
		if !p.seen[id] || m == nil {
			why = append(why, fmt.Sprintf("transaction %q was not in what was read", id))
			continue
		}
		key, some, known := m.Unattributed(c.Epoch, id)
		switch {
		case !known:
			why = append(why, fmt.Sprintf("transaction %q has left the window: replay without --window", id))
		case some:
			why = append(why, fmt.Sprintf("transaction %q read a value of %q that has no writer in the range, or several%s", id, key, p.hint()))
		}
	}
	if c.Unnamed == 0 || m == nil {
		return why
	}
	if c.Bounded {
		return append(why, whole.Plural(c.Unnamed, "edge leads", "edges lead")+" to transactions that are not named: replay without --window")
	}
	if key, some := m.AnyUnattributed(); some {
		why = append(why, fmt.Sprintf("%s to transactions that are not named, and some read of %q has no writer in the range, or several%s",
			whole.Plural(c.Unnamed, "edge leads", "edges lead"), key, p.hint()))
	}
	return why
}

func (p *replaying) hint() string {
	if p.Config.From.Kind == config.Unbounded {
		return ""
	}
	return ": an earlier --from, or none, may hold it"
}
