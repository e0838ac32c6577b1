package app

import (
	"cmp"
	"context"
	"slices"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/web"
)

// ReloadFile reads the settings again, and lets them take effect. It gives the keys of those that wait for a
// restart, and logs the result. Concurrent calls wait for each other.
func (a *App) ReloadFile(ctx context.Context) (waiting []string, err error) {
	if a.options.Reread == nil {
		return nil, web.ErrNoFile
	}
	a.rereading.Lock()
	defer a.rereading.Unlock()
	next, err := a.options.Reread()
	if err != nil {
		a.RefuseReload()
		a.log.Error("the new configuration is refused; the old one stays in effect", "err", err)
		return nil, err
	}
	return a.takeUp(ctx, &next)
}

// silences are links to where the alerts of a group are silenced: the Alertmanagers of the sinks, the
// first of each cluster.
func (a *App) silences(g *catalog.Group) (all []web.Link) {
	sinks := a.current.Load().Sinks
	for i := range sinks {
		m := sinks[i].Alertmanager
		if m == nil || len(m.URLs) == 0 {
			continue
		}
		labels := m.Labels
		if slices.ContainsFunc(g.Names, catalog.Cut) { // the pattern of the alerts is not known
			labels = append(slices.Clone(labels), "pattern=")
		}
		for _, s := range alert.Silences(cmp.Or(m.External, m.URLs[0]), labels, alert.Pattern{Source: g.Source, Anomaly: g.Anomaly, Names: g.Names}, g.Kind) {
			all = append(all, web.Link{Text: s.Text, URL: s.URL})
		}
	}
	return all
}
