package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/isowatch/isowatch/alert"
	alertkafka "github.com/isowatch/isowatch/alert/kafka"
	alertnats "github.com/isowatch/isowatch/alert/nats"
	"github.com/isowatch/isowatch/internal/config"
)

// madeSink is a sink of the configuration, with what closes it; nil: nothing does.
type madeSink struct {
	route alert.Route
	close func() error
}

// makeSinks makes the sinks, to which nothing is delivered yet, and reads the secrets of the pages. It
// tells the faults of all of them at once.
func (a *App) makeSinks(context.Context) error {
	a.sinkMetrics = alert.NewMetrics(a.registerer)
	guard, unread := a.readGuard()
	a.guard.Store(&guard)
	made, err := a.buildSinks(a.config.Sinks)
	a.made = made
	a.cleanups.push("sinks' connections", func(context.Context) error { return closeSinks(a.made) })
	return errors.Join(unread, err)
}

// openSinks starts delivering.
func (a *App) openSinks(context.Context) error {
	if err := a.dispatch(a.routes(a.made)); err != nil {
		return err
	}
	a.cleanups.push("sinks", func(context.Context) error { return a.dispatcher.Load().Close() })
	return nil
}

// routes returns the routes of the caller, of the sinks made, and of the self-test.
func (a *App) routes(made []madeSink) []alert.Route {
	all := append([]alert.Route(nil), a.options.Sinks...)
	for i := range all {
		// Without an address for others, a person at this terminal can follow a link while the service runs.
		if a.config.HTTP.ExternalURL != "" || all[i].Sink.Name() == alert.TextName && !a.config.UsesStdin() {
			all[i].Pages = a.linkedPages()
		}
	}
	for i := range made {
		all = append(all, made[i].route)
	}
	for i := range all {
		all[i].Filter.Except = config.SelfTestSource
	}
	if a.selfTest != nil {
		all = append(all, alert.Route{Sink: a.selfTest, Filter: alert.Filter{Only: config.SelfTestSource}})
	}
	return all
}

func names(routes []alert.Route) []string {
	var all []string
	for _, r := range routes {
		all = append(all, r.Sink.Name())
	}
	return all
}

// buildSinks makes all sinks, or none.
func (a *App) buildSinks(asked []config.Sink) ([]madeSink, error) {
	var made []madeSink
	var faults []string
	for i := range asked {
		sink, err := a.buildSink(&asked[i])
		if err != nil {
			faults = append(faults, fmt.Sprintf("sink %s: %v", asked[i].Label(), err))
			continue
		}
		made = append(made, sink)
	}
	if len(faults) > 0 {
		closeSinks(made) // nothing was sent through them
		return nil, fmt.Errorf("%w: %s", ErrConfig, strings.Join(faults, "\n"))
	}
	return made, nil
}

func closeSinks(made []madeSink) error {
	var first error
	for _, m := range made {
		if m.close != nil {
			if err := m.close(); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}

func (a *App) buildSink(s *config.Sink) (m madeSink, err error) {
	var sink alert.Digester
	switch {
	case s.Webhook != nil:
		sink, err = makeWebhook(s.Label(), s.Webhook)
	case s.Alertmanager != nil:
		m.route.Sink, err = a.makeAlertmanager(s.Label(), s.Alertmanager)
	case s.NATS != nil:
		o := natsBroker(&s.NATS.NATS)
		o.Name, o.Logger = "isowatch-sink", a.log
		var x *alertnats.Sink
		if x, err = alertnats.New(alertnats.Options{Name: s.Label(), Broker: o, Subject: s.NATS.Subject, JetStream: s.NATS.JetStream}); err == nil {
			sink, m.close = x, x.Close
		}
	case s.Kafka != nil:
		var x *alertkafka.Sink
		if x, err = alertkafka.New(alertkafka.Options{Name: s.Label(), Broker: kafkaBroker(&s.Kafka.Kafka), Topic: s.Kafka.Topic}); err == nil {
			sink, m.close = x, x.Close
		}
	case s.File != nil:
		if _, err = os.Stat(filepath.Dir(s.File.Path)); err == nil {
			sink = alert.NewFile(s.Label(), s.File.Path)
		}
	}
	if err != nil {
		return m, err
	}
	m.route.Pages = a.linkedPages()
	if m.route.Sink == nil {
		m.route.Sink = sink
		if n := s.Limit(); n > 0 {
			m.route.Sink = alert.NewLimiter(sink, alert.LimitOptions{PerPattern: n, Every: s.Every, Pages: a.linkedPages(), Now: a.options.Now, Metrics: a.sinkMetrics})
		}
	}
	if s.Send == config.SendAll {
		m.route.Filter = alert.Everything()
	}
	return m, nil
}

func makeWebhook(name string, w *config.Webhook) (alert.Digester, error) {
	url := w.URL
	if w.URLFrom.IsSet() {
		text, err := readSecret(w.URLFrom)
		if err != nil {
			return nil, err
		}
		url = string(text)
	}
	secret, err := readSecret(w.Secret)
	if err != nil {
		return nil, err
	}
	pem, err := readCA(w.CAFile)
	if err != nil {
		return nil, err
	}
	transport, err := alert.NewTransport(pem)
	if err != nil {
		return nil, err
	}
	return alert.NewWebhook(alert.WebhookOptions{Name: name, URL: url, Secret: secret, Transport: transport})
}

func (a *App) makeAlertmanager(name string, m *config.Alertmanager) (alert.Sink, error) {
	o := alert.AlertmanagerOptions{
		Name: name, URLs: m.URLs, Hold: m.Hold, Resend: m.Resend, Labels: map[string]string{},
		Pages: a.linkedPages(), Now: a.options.Now, Log: a.log,
	}
	for _, l := range m.Labels {
		key, value, _ := strings.Cut(l, "=")
		o.Labels[key] = value
	}
	var err error
	o.Login.User = m.User
	if o.Login.Password, err = readSecret(m.Password); err != nil {
		return nil, err
	}
	if o.Login.Token, err = readSecret(m.Token); err != nil {
		return nil, err
	}
	pem, err := readCA(m.CAFile)
	if err != nil {
		return nil, err
	}
	if o.Transport, err = alert.NewTransport(pem); err != nil {
		return nil, err
	}
	return alert.NewAlertmanager(o)
}

// pages is where people reach the pages.
func (a *App) pages() string {
	h := &a.config.HTTP
	switch {
	case h.ExternalURL != "":
		return h.ExternalURL
	case a.listener == nil:
		return ""
	case h.CertFile != "":
		return "https://" + a.HTTPAddr()
	}
	return "http://" + a.HTTPAddr()
}

// linkedPages are the pages for links, without a slash at their end; "" where the address
// names no host, such as 0.0.0.0:8080.
func (a *App) linkedPages() string {
	if u := a.options.unit; u != nil {
		return u.pagesAt()
	}
	at := strings.TrimRight(a.pages(), "/")
	if u, err := url.Parse(at); err != nil || net.ParseIP(u.Hostname()).IsUnspecified() {
		return ""
	}
	return at
}

func readCA(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("CA file: %w", err)
	}
	return pem, nil
}
