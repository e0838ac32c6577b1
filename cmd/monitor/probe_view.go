package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/window"
)

const (
	drawEvery = time.Second
	// tellEvery is the time between two lines in a log or a pipe while nothing changes.
	tellEvery = time.Minute
)

// view shows people how a probe fares: a table that is drawn again on a terminal, a line
// now and then elsewhere.
type view struct {
	t      *terminal
	screen *screen // nil: no terminal
	shown  bool    // somebody reads text
	expect isolation.Level
	stats  *probe.Stats

	began   time.Time
	told    time.Time
	verdict string // that was told last
}

// withScreen is t with a screen, where people read text on a terminal.
func withScreen(t *terminal, output string) *terminal {
	own := *t
	if output != "text" || !isTerminal(t.stdout) {
		return &own
	}
	s := &screen{out: t.stdout}
	own.stdout = above{s, t.stdout}
	if isTerminal(t.stderr) {
		own.stderr = above{s, t.stderr}
	}
	return &own
}

// newView draws on the screen of t, if it has one.
func newView(t *terminal, p *probeFlags, stats *probe.Stats) *view {
	v := &view{t: t, shown: p.output == "text", expect: p.service.WatchOf(probeSource).Expect, stats: stats}
	if out, ok := t.stdout.(above); ok {
		v.screen = out.screen
	}
	return v
}

// follow shows how a fares until stop, which takes the table away.
func (v *view) follow(a *app.App) (stop func()) {
	if !v.shown {
		return func() {}
	}
	v.began = time.Now()
	v.told = v.began
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(drawEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				if v.screen != nil {
					v.screen.draw(nil)
				}
				return
			case now := <-ticker.C:
				v.show(a.Status(), now)
			}
		}
	}()
	return func() { close(done); <-ended }
}

func (v *view) show(s *engine.Status, now time.Time) {
	if v.screen != nil {
		v.screen.draw(v.table(s, now))
		return
	}
	verdict := v.verdictOf(s, v.expect)
	if verdict == v.verdict && now.Sub(v.told) < tellEvery {
		return
	}
	v.verdict, v.told = verdict, now
	v.t.say("%s: %s %s; %s", now.Sub(v.began).Round(time.Second), v.expect, verdict, counted(v.stats))
}

// verdictOf is the verdict on l so far.
func (v *view) verdictOf(s *engine.Status, l isolation.Level) string {
	for i := range s.Sources {
		if x, ok := s.Sources[i].Verdicts[l.String()]; ok && s.Sources[i].Source == probeSource {
			return x.Verdict
		}
	}
	return "-"
}

// table is a line a level, weak ones first, and what was done.
func (v *view) table(s *engine.Status, now time.Time) []byte {
	var out []byte
	for _, l := range isolation.AllLevels() {
		verdict := v.verdictOf(s, l)
		if verdict == "-" && l != v.expect {
			continue
		}
		line := fmt.Sprintf("  %-34s %s", l, v.paint(verdict))
		if l == v.expect {
			line += "  expected"
		}
		out = append(out, line+"\n"...)
	}
	committed, aborted, unknown := v.stats.Outcomes()
	all := committed + aborted + unknown
	passed := now.Sub(v.began)
	out = fmt.Appendf(out, "  %v: %d committed, %d aborted, %d unknown; %.0f/s\n", passed.Round(time.Second), committed, aborted, unknown, float64(all)/max(passed.Seconds(), 1e-9))
	return fmt.Appendf(out, "  latency p50 %v, p99 %v, max %v\n", short(v.stats.Latency(0.5)), short(v.stats.Latency(0.99)), short(v.stats.Latency(1)))
}

// paint is a verdict in its colour, and of one width.
func (v *view) paint(verdict string) string {
	text := fmt.Sprintf("%-8s", verdict)
	if verdict == window.Violated {
		text = strings.ToUpper(text)
	}
	codes := map[string]string{window.OK: "1;32", window.Unknown: "1;33", window.Violated: "1;31"}
	if code := codes[verdict]; code != "" && v.t.colors() {
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	return text
}
