package alert

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/words"
)

// AlertmanagerOptions say where alerts go.
type AlertmanagerOptions struct {
	Name   string   // the sink's; "": "alertmanager"
	URLs   []string // of one, or of all of a cluster. Each is told; it is enough that one took an alert
	Login  Login
	Hold   time.Duration // an alert resolves so long after its last finding
	Resend time.Duration // an alert that fires is sent again: a restarted Alertmanager knows none
	Labels map[string]string
	// Pages is where people reach the pages, for the alert's link; "": no link.
	Pages     string
	Transport http.RoundTripper // nil: a clone of the default one
	Now       func() time.Time  // nil: time.Now
	Log       *slog.Logger      // nil: nothing is logged
}

// Alertmanager posts alerts to the v2 API of Prometheus Alertmanager: one for each
// pattern, labelled with what does not grow with the number of findings. An alert
// fires from the pattern's first finding until Hold after its last. Every post says
// when that is, so that the alert resolves without us too. It resolves at once when all
// its findings are withdrawn, or are of another pattern now. IsolationWithdrawn,
// which wakes nobody, takes its place until its end. Counters of Prometheus do not go back, so the alert that
// a rule makes of them still fires.
type Alertmanager struct {
	opt     AlertmanagerOptions
	posters []*poster
	state   firing
}

// firing has the alerts that are sent again.
type firing struct {
	Alerts map[string]*alertState `json:"alerts"` // by the pattern's key
	IDs    []alertID              `json:"ids"`    // of findings that may be withdrawn, oldest first
}

type alertID struct{ ID, Alert string }

// alertState is one alert.
type alertState struct {
	Pattern  Pattern   `json:"pattern"`
	Kind     string    `json:"kind"`
	Severity string    `json:"severity"`
	Starts   time.Time `json:"starts"`
	Last     time.Time `json:"last"` // finding
	Sent     time.Time `json:"sent"`
	Findings int       `json:"findings"` // since it fires
	Open     int       `json:"open"`     // of these, not withdrawn
	// Withdrawn is since when none is open; zero: some are.
	Withdrawn time.Time `json:"withdrawn,omitzero"`
	ID        string    `json:"id"` // of the latest
	Title     string    `json:"title"`
	Headline  string    `json:"headline,omitempty"`
	Meaning   string    `json:"meaning,omitempty"`
	Causes    string    `json:"causes,omitempty"` // a line each
	Next      string    `json:"next,omitempty"`   // a line each
	Summary   string    `json:"summary"`
	Cycle     string    `json:"cycle"`
	Proof     string    `json:"proof,omitempty"` // lines
}

// These bound the state that each delivery stores: 200 alerts of some 2 KiB, 7 KiB at most, 2,000
// ids of 40 bytes. Patterns beyond share one alert a source.
const (
	maxAlerts   = 200
	maxAlertIDs = 2000
	maxLabel    = 200     // bytes of a label's value that come from clients
	maxText     = 600     // bytes of a cycle in an annotation
	maxProof    = 4 << 10 // bytes of a proof in an annotation, and on a line of the log
)

// NewAlertmanager checks the URLs.
func NewAlertmanager(o AlertmanagerOptions) (*Alertmanager, error) {
	if o.Name == "" {
		o.Name = "alertmanager"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &Alertmanager{opt: o}
	for _, u := range o.URLs {
		p, err := newPoster("alertmanager", u, o.Login, o.Transport)
		if err != nil {
			return nil, err
		}
		p.target = p.target.JoinPath("api/v2/alerts")
		a.posters = append(a.posters, p)
	}
	if len(a.posters) == 0 {
		return nil, errors.New("alertmanager: no URL is named")
	}
	_ = a.Restore(nil) // an empty state can be read
	return a, nil
}

// Name is the name of the options.
func (a *Alertmanager) Name() string { return a.opt.Name }

// Restore implements [Keeper].
func (a *Alertmanager) Restore(state []byte) (err error) {
	a.state = firing{}
	if len(state) > 0 {
		if err = json.Unmarshal(state, &a.state); err != nil {
			a.state = firing{}
		}
	}
	if a.state.Alerts == nil {
		a.state.Alerts = map[string]*alertState{}
	}
	return err
}

// State implements [Keeper].
func (a *Alertmanager) State() ([]byte, error) {
	if len(a.state.Alerts) == 0 {
		return nil, nil
	}
	return json.Marshal(&a.state)
}

// Due implements [Keeper].
func (a *Alertmanager) Due() time.Time {
	var due time.Time
	for _, x := range a.state.Alerts {
		at := x.Sent.Add(a.opt.Resend)
		if end := x.Last.Add(a.opt.Hold); end.Before(at) {
			at = end
		}
		if due.IsZero() || at.Before(due) {
			due = at
		}
	}
	return due
}

// Deliver implements [Sink].
func (a *Alertmanager) Deliver(ctx context.Context, findings []Delivery) error {
	next := a.state.clone()
	now := a.opt.Now()
	touched := map[string]bool{}
	for i := range findings {
		next.take(&findings[i].Finding, now, touched)
	}
	return a.sendOut(ctx, next, touched, now)
}

// Flush implements [Keeper].
func (a *Alertmanager) Flush(ctx context.Context) error {
	next := a.state.clone()
	now := a.opt.Now()
	due := map[string]bool{}
	for key, x := range next.Alerts {
		if !now.Before(x.Sent.Add(a.opt.Resend)) || !now.Before(x.Last.Add(a.opt.Hold)) {
			due[key] = true
		}
	}
	return a.sendOut(ctx, next, due, now)
}

// sendOut posts the alerts named, and lets next take effect.
func (a *Alertmanager) sendOut(ctx context.Context, next firing, keys map[string]bool, now time.Time) error {
	var posts []postedAlert
	for key := range keys {
		x := next.Alerts[key]
		x.Sent = now
		ends := x.Last.Add(a.opt.Hold)
		gone := x.Open <= 0 && now.Before(ends)
		switch {
		case !x.Withdrawn.IsZero():
			posts = append(posts, a.withdrawn(key, x, ends))
		case gone && x.Kind == string(finding.KindViolation):
			x.Withdrawn = now
			posts = append(posts, a.withdrawn(key, x, ends), a.post(key, x, now))
		case gone: // a warning: nobody is woken by its rule
			posts = append(posts, a.post(key, x, now))
			ends = now
		default:
			posts = append(posts, a.post(key, x, ends))
		}
		if !now.Before(ends) {
			delete(next.Alerts, key)
		}
	}
	if len(posts) > 0 {
		payload, err := json.Marshal(posts)
		if err != nil {
			return fmt.Errorf("alertmanager: %w", err)
		}
		if err := a.tellAll(ctx, payload); err != nil {
			return err
		}
	}
	a.state = next
	return nil
}

// tellAll posts to every Alertmanager. One that took it is enough: they tell each
// other what they notified of, and the others are told again soon.
func (a *Alertmanager) tellAll(ctx context.Context, payload []byte) error {
	errs := make([]error, len(a.posters))
	var wg sync.WaitGroup
	for i, p := range a.posters {
		wg.Go(func() { errs[i] = p.post(ctx, payload, http.Header{}) })
	}
	wg.Wait()
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
		}
	}
	if failed == len(errs) {
		return errors.Join(errs...)
	}
	if failed > 0 {
		a.opt.Log.Warn("alert: some of the Alertmanagers did not get the alerts", "sink", a.Name(), "err", errors.Join(errs...))
	}
	return nil
}

// postedAlert is an element of the body of POST /api/v2/alerts.
type postedAlert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// withdrawn tells that the findings of an alert were taken back. Labels of the options give it no other
// name and no other severity.
func (a *Alertmanager) withdrawn(key string, x *alertState, ends time.Time) postedAlert {
	p := a.post(key, x, ends)
	p.StartsAt = x.Withdrawn
	p.Labels["alertname"], p.Labels["severity"] = "IsolationWithdrawn", "info"
	p.Annotations["summary"] = "Findings were withdrawn: later records explain them, or show another anomaly."
	p.Annotations["description"] = fmt.Sprintf(
		"%s: %s of %s. It was told, and is taken back.",
		label(x.Pattern.Source),
		finding.Counted(int64(x.Findings), "finding", "findings"),
		label(x.Title),
	)
	for _, of := range []string{"headline", "meaning", "causes", "next", "cycle", "proof"} {
		delete(p.Annotations, of)
	}
	return p
}

func (a *Alertmanager) post(key string, x *alertState, ends time.Time) postedAlert {
	labels := map[string]string{
		"alertname": alertName(x), "severity": x.Severity,
		"source": label(x.Pattern.Source), "anomaly": label(x.Pattern.Anomaly), "pattern": key,
	}
	for name, value := range a.opt.Labels {
		labels[name] = value
	}
	texts := map[string]string{
		"summary":     cmp.Or(x.Headline, "Results contradict the expected isolation level."),
		"description": fmt.Sprintf("%s: %s of %s. %s", label(x.Pattern.Source), finding.Counted(int64(x.Findings), "finding", "findings"), label(x.Title), x.Summary),
		"finding":     x.ID,
	}
	if x.Kind != string(finding.KindViolation) {
		texts["summary"] = "Isowatch could not check everything."
	}
	if x.Pattern.Anomaly == finding.WeakerThanExpected {
		texts["summary"] = "Clients ask for less isolation than expected."
	}
	for name, text := range map[string]string{
		"headline": x.Headline, "meaning": x.Meaning, "causes": x.Causes, "next": x.Next, "cycle": x.Cycle, "proof": x.Proof,
	} {
		if text != "" {
			texts[name] = text
		}
	}
	if len(x.Pattern.Names) > 0 {
		texts["transactions"] = label(strings.Join(x.Pattern.Names, ", "))
	}
	post := postedAlert{Labels: labels, Annotations: texts, StartsAt: x.Starts, EndsAt: ends}
	if a.opt.Pages != "" {
		post.GeneratorURL = findingURL(a.opt.Pages, x.ID)
		texts["page_url"] = post.GeneratorURL // as in the alerts of the rules
	}
	return post
}

func alertName(x *alertState) string {
	switch finding.Kind(x.Kind) {
	case finding.KindHorizon:
		return "IsolationUndecided"
	case finding.KindGap:
		return "IsolationInputLost"
	case finding.KindRecord:
		if x.Pattern.Anomaly == finding.WeakerThanExpected {
			return "IsolationWeakerThanExpected"
		}
		return "IsolationRecordsContradict"
	}
	return "IsolationViolated"
}

func severity(f *finding.Finding) string {
	if v, _ := words.VerdictOf(f); v == words.Violated {
		return "critical"
	}
	return "warning"
}

// label is text that a client may have chosen, short and printable.
func label(text string) string { return cut(words.Visible(text), maxLabel) }

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "..."
}

func (s *firing) clone() firing {
	c := firing{Alerts: make(map[string]*alertState, len(s.Alerts)), IDs: append([]alertID(nil), s.IDs...)}
	for key, x := range s.Alerts {
		copied := *x
		c.Alerts[key] = &copied
	}
	return c
}

// take puts the finding into the alert of its pattern. One that was in another is taken
// out of that: an upgrade may name another anomaly.
func (s *firing) take(f *finding.Finding, now time.Time, touched map[string]bool) {
	known := false
	if follows(f) {
		for i := range s.IDs {
			if s.IDs[i].ID == f.ID {
				key := s.IDs[i].Alert
				if x := s.Alerts[key]; x != nil {
					x.Open--
					touched[key] = true
				}
				s.IDs = append(s.IDs[:i], s.IDs[i+1:]...)
				known = true
				break
			}
		}
	}
	if takenBack(f) {
		return
	}
	p := PatternOf(f)
	key := p.Key()
	if s.Alerts[key] == nil && len(s.Alerts) >= maxAlerts {
		p = Pattern{Source: f.Source, Anomaly: otherwise, Names: []string{}}
		key = p.Key()
	}
	x := s.Alerts[key]
	if x == nil || !x.Withdrawn.IsZero() { // what was withdrawn ends by itself
		x = &alertState{Pattern: p, Kind: string(f.Kind), Starts: now, Severity: severity(f)}
		if confirmed(f) {
			x.Kind = string(finding.KindViolation)
		}
		s.Alerts[key] = x
	}
	if !known || x.Findings == 0 {
		x.Findings++
	}
	x.Open++
	x.Last = now
	x.ID, x.Title, x.Cycle = f.ID, f.Title, cut(words.Visible(words.Cycle(f)), maxText)
	x.Proof = words.ShortProof(f, maxProof)
	x.Headline, x.Meaning = cut(words.Visible(f.Headline), maxText), f.Meaning
	x.Causes, x.Next = strings.Join(f.Causes, "\n"), strings.Join(f.Next, "\n")
	_, x.Summary = words.VerdictOf(f)
	s.IDs = append(s.IDs, alertID{f.ID, key})
	s.IDs = s.IDs[max(0, len(s.IDs)-maxAlertIDs):]
	touched[key] = true
}
