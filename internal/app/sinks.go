package app

import (
	"context"
	"fmt"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/config"
)

// makeSinks makes the sinks, to which nothing is delivered yet.
func (a *App) makeSinks(context.Context) error {
	a.routes = append([]alert.Route(nil), a.options.Sinks...)
	for i := range a.config.Sinks {
		s := &a.config.Sinks[i]
		sink, err := a.makeSink(s)
		if err != nil {
			return fmt.Errorf("%w: sink %s: %w", ErrInput, s.Label(), err)
		}
		route := alert.Route{Sink: sink}
		if s.Send == config.SendAll {
			route.Filter = alert.Everything()
		}
		a.routes = append(a.routes, route)
	}
	return nil
}

func (a *App) makeSink(s *config.Sink) (alert.Sink, error) {
	switch {
	case s.Webhook != nil:
		return makeWebhook(s.Label(), s.Webhook)
	}
	return nil, fmt.Errorf("this version has no sink of this kind")
}

func makeWebhook(name string, w *config.Webhook) (alert.Sink, error) {
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
	return alert.NewWebhook(alert.WebhookOptions{Name: name, URL: url, Secret: secret})
}
