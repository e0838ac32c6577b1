package web

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/page"
)

// Query says which findings are wanted. Empty fields do not restrict.
type Query struct {
	Limit   int // 1 to 1000
	Source  string
	Anomaly string
	Kind    finding.Kind
	State   finding.State
	// Expected is "true" for what the expected level allows, "false" for what it does not.
	Expected string
	// Acknowledged and Silenced are "true" or "false".
	Acknowledged, Silenced string
	Endpoint, Name         string // of one of the transactions
	Group                  string // key of a group
	Text                   string // see catalog.Query
	From, To               int64  // when it was found first, ns since the Unix epoch, without To; 0: no bound
	EndedFrom, EndedTo     int64  // when its transactions ended, the same: one of several reaches into it
	Since, Until           int64  // when its last transaction ended, the same
	Recent                 int64  // in place of Since: ns before Until, or before now. Where all are older, before the latest
	Refutes                string // a level
	Before                 string // a cursor: findings older than those on the page that gave it
}

// ErrCursor is returned by [Findings.List] for a cursor that it did not make.
var ErrCursor = errors.New("unknown cursor")

const (
	defaultLimit = 100
	maxLimit     = 1000
	maxParameter = 1024 // bytes of one value
)

var (
	kinds  = []finding.Kind{finding.KindViolation, finding.KindHorizon, finding.KindGap, finding.KindRecord}
	states = []finding.State{finding.Waiting, finding.Provisional, finding.Final, finding.Withdrawn, finding.ResolvedOK, finding.ResolvedViolated}
)

// parseQuery reads the fields of a query, and leaves the names in also to the caller. An unknown name is an error: a filter that
// is misspelt must not pass for one that finds everything.
func parseQuery(raw string, limit int, also ...string) (Query, error) {
	q := Query{Limit: limit}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, fmt.Errorf("query: %w", err)
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if slices.Contains(also, name) {
			continue
		}
		if err := q.set(name, values[name]); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (q *Query) set(name string, values []string) error {
	value := values[0]
	switch {
	case len(values) > 1:
		return fmt.Errorf("%q is given %d times", name, len(values))
	case len(value) > maxParameter:
		return fmt.Errorf("%q is longer than %d bytes", name, maxParameter)
	case !utf8.ValidString(value):
		return fmt.Errorf("%q is not UTF-8", name)
	}
	switch name {
	case "limit":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxLimit {
			return fmt.Errorf(`"limit" is %q, want 1 to %d`, value, maxLimit)
		}
		q.Limit = n
	case "source":
		q.Source = value
	case "anomaly":
		q.Anomaly = value
		return knownAnomaly(value)
	case "endpoint":
		q.Endpoint = value
	case "name":
		q.Name = value
	case "group":
		q.Group = value
	case "q":
		q.Text = strings.TrimSpace(value)
	case "refutes":
		if level, err := isolation.ParseLevel(value); err == nil {
			value = level.String()
		} else if value != "" {
			return fmt.Errorf(`"refutes" is %q, and no level: %w`, value, err)
		}
		q.Refutes = value
	case "from", "to", "ended-from", "ended-to":
		at, err := time.Parse(time.RFC3339, value)
		if value != "" && err != nil {
			return fmt.Errorf(`%q is %q, want a time as 2026-11-20T19:00:00Z`, name, value)
		}
		if value != "" {
			*map[string]*int64{"from": &q.From, "to": &q.To, "ended-from": &q.EndedFrom, "ended-to": &q.EndedTo}[name] = at.UnixNano()
		}
	case "since", "until":
		return q.setSpan(name, value)
	case "before":
		q.Before = value
	case "kind":
		q.Kind = finding.Kind(value)
		if value != "" && !slices.Contains(kinds, q.Kind) {
			return fmt.Errorf(`"kind" is %q, want one of %q`, value, kinds)
		}
	case "state":
		q.State = finding.State(value)
		if value != "" && !slices.Contains(states, q.State) {
			return fmt.Errorf(`"state" is %q, want one of %q`, value, states)
		}
	case "expected", "acknowledged", "silenced":
		*map[string]*string{"expected": &q.Expected, "acknowledged": &q.Acknowledged, "silenced": &q.Silenced}[name] = value
		if value != "" && value != "true" && value != "false" {
			return fmt.Errorf(`%q is %q, want true or false`, name, value)
		}
	default:
		return fmt.Errorf("unknown parameter %q", name)
	}
	return nil
}

// knownAnomaly refuses a name that no anomaly has.
func knownAnomaly(name string) error {
	names := isolation.AnomalyNames()
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	if best := isolation.Likely(name, names); best != "" {
		return fmt.Errorf(`"anomaly" is %q, and no anomaly has this name; did you mean %q?`, name, best)
	}
	return fmt.Errorf(`"anomaly" is %q, want one of %q`, name, names)
}

// instants are the forms of an instant, in UTC where it names no zone.
var instants = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly}

// setSpan reads since and until. since may be a duration.
func (q *Query) setSpan(name, value string) error {
	if value = strings.TrimSpace(value); value == "" {
		return nil
	}
	if long, err := duration(value); err == nil && name == "since" {
		if q.Recent = int64(long); long <= 0 {
			return fmt.Errorf(`"since" is %q, want more than no time`, value)
		}
		return nil
	}
	for _, form := range instants {
		if at, err := time.Parse(form, value); err == nil {
			*map[string]*int64{"since": &q.Since, "until": &q.Until}[name] = at.UnixNano()
			return nil
		}
	}
	if name == "since" {
		return fmt.Errorf(`"since" is %q, want a duration as 24h or 7d, or a time as 2026-11-20T19:00:00Z`, value)
	}
	return fmt.Errorf(`%q is %q, want a time as 2026-11-20T19:00:00Z`, name, value)
}

// HasSpan says whether only a stretch of time is asked for.
func (q Query) HasSpan() bool { return q.Since != 0 || q.Until != 0 || q.Recent != 0 }

// SinceText is since as an address has it.
func (q Query) SinceText() string {
	const hour = int64(time.Hour)
	switch r := q.Recent; {
	case r == 0:
		return rfc3339(q.Since)
	case r%(24*hour) == 0 && r > 24*hour:
		return strconv.FormatInt(r/(24*hour), 10) + "d"
	case r%hour == 0:
		return strconv.FormatInt(r/hour, 10) + "h"
	default:
		return time.Duration(r).String()
	}
}

// UntilText is until as an address has it.
func (q Query) UntilText() string { return rfc3339(q.Until) }

// given is a parameter of an address.
type given struct{ Name, Value string }

// Beyond are the parameters of q that no field of a form has. A form keeps them.
func (q Query) Beyond() (all []given) {
	for _, x := range []given{
		{"from", rfc3339(q.From)}, {"to", rfc3339(q.To)}, {"ended-from", rfc3339(q.EndedFrom)}, {"ended-to", rfc3339(q.EndedTo)}, {"refutes", q.Refutes},
	} {
		if x.Value != "" {
			all = append(all, x)
		}
	}
	return all
}

// narrowed is a restriction that no field of a form shows, in words.
type narrowed struct {
	Text     string
	From, To *page.Moment // nil: no bound
}

// Narrowed has the restrictions that no field of a form shows.
func (q Query) Narrowed() (all []narrowed) {
	at := func(ns int64) *page.Moment {
		m, ok := (&page.Options{}).MomentOf(rfc3339(ns))
		if !ok {
			return nil
		}
		return &m
	}
	if q.Refutes != "" {
		all = append(all, narrowed{Text: "They refute " + q.Refutes + "."})
	}
	if q.EndedFrom != 0 || q.EndedTo != 0 {
		all = append(all, narrowed{"Their transactions ended", at(q.EndedFrom), at(q.EndedTo)})
	}
	if q.From != 0 || q.To != 0 {
		all = append(all, narrowed{"They were seen first", at(q.From), at(q.To)})
	}
	return all
}
