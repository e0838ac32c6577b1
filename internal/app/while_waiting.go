package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isowatch/isowatch/internal/web"
)

// serveWhileWaiting answers probes and shows the first metrics while a start waits for room
// on the disk, so that the alert of it can fire. stop leaves the port to the pages.
func (a *App) serveWhileWaiting() (stop func(), err error) {
	if a.listener == nil {
		return func() {}, nil
	}
	lent := lentListener{a.listener.(*net.TCPListener)} // of network "tcp"
	listener, err := secure(lent, &a.config.HTTP)
	if err != nil {
		return nil, err
	}
	c := newCollector()
	c.room = a.diskSpace
	registry := prometheus.NewRegistry()
	if err := registry.Register(firstMetrics{c}); err != nil {
		return nil, err
	}
	server := web.NewServer(a.local(web.WhileWaiting(web.Options{
		Guard: a.guarding, Gatherer: registry, Base: a.config.HTTP.Base(), Log: a.log,
		Ready: func() error { return errors.New("the disk is nearly full") },
	})), a.log)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("server ended", "server", "http", "err", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), httpPatience)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close() // nothing of ours is lost by that
		}
		<-ended
		lent.SetDeadline(time.Time{}) // the next server waits for connections again
	}, nil
}

// lentListener stays open when the server that it was lent to closes it. That server takes no more
// connections, and later ones wait for the next server.
type lentListener struct{ *net.TCPListener }

// Close ends Accept, until another deadline is set.
func (l lentListener) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// firstMetrics are those that are known before the store is open.
type firstMetrics struct{ *collector }

// Collect implements [prometheus.Collector].
func (c firstMetrics) Collect(out chan<- prometheus.Metric) {
	gauge := func(name string, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(c.desc[name], prometheus.GaugeValue, value, labels...)
	}
	gauge("build_info", 1, c.build...)
	paused, free := c.room.state()
	gauge("intake_paused", truth(paused))
	gauge("disk_free_bytes", float64(free))
}
