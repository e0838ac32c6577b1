package web

import (
	"io"
	"net/http"
	"time"
)

const (
	maxWatching = 100         // pages that follow at a time
	lookEvery   = time.Second // for changes
	sayEvery    = 15 * time.Second
	writeWithin = 10 * time.Second
)

// events tells a page that what it shows has changed: server-sent events (WHATWG HTML, section 9.2), at most
// one a second. Between them a comment keeps proxies from closing the connection.
func (s *site) events(w http.ResponseWriter, r *http.Request) {
	if s.Changes == nil {
		plain(w, http.StatusNotFound, "nothing to follow")
		return
	}
	if s.watching.Add(1) > maxWatching {
		s.watching.Add(-1)
		plain(w, http.StatusServiceUnavailable, "too many pages follow already")
		return
	}
	defer s.watching.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx passes it on at once
	control := http.NewResponseController(w)
	say := func(text string) bool {
		control.SetWriteDeadline(s.Now().Add(writeWithin)) // a writer that has no deadline needs none
		_, err := io.WriteString(w, text)
		return err == nil && control.Flush() == nil
	}
	seen, said := s.Changes(), s.Now()
	if !say("retry: 3000\n\n") {
		return
	}
	for tick := time.NewTicker(lookEvery); ; {
		select {
		case <-r.Context().Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		text := ""
		switch now := s.Changes(); {
		case now != seen:
			seen, text = now, "event: change\ndata: "+time.Now().UTC().Format(time.RFC3339)+"\n\n"
		case s.Now().Sub(said) >= sayEvery:
			text = ": still here\n\n"
		default:
			continue
		}
		said = s.Now()
		if !say(text) {
			tick.Stop()
			return
		}
	}
}
