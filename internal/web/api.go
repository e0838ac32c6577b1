package web

import (
	"encoding/json"
	"errors"
	"net/http"
)

// listJSON answers with an array of findings, newest first. X-Next holds the
// cursor of the next page, for the parameter before; it is absent on the last.
func (s *site) listJSON(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.RawQuery, defaultLimit)
	if err != nil {
		s.failJSON(w, http.StatusBadRequest, err.Error())
		return
	}
	page, next, err := s.Findings.List(q)
	if errors.Is(err, ErrCursor) {
		s.failJSON(w, http.StatusBadRequest, `"before" is not a cursor of X-Next`)
		return
	}
	if err != nil {
		s.Log.Error("web: list of findings failed", "err", err)
		s.failJSON(w, http.StatusInternalServerError, "findings cannot be read")
		return
	}
	if len(page) == 0 && s.lacksGroup(q.Group) {
		s.failJSON(w, http.StatusNotFound, noGroup)
		return
	}
	if next != "" {
		w.Header().Set("X-Next", next)
	}
	all := make([]findingWithGroup, 0, len(page)) // [] and not null
	for i := range page {
		all = append(all, s.withGroup(page[i]))
	}
	s.writeJSON(w, http.StatusOK, all)
}

func (s *site) findingJSON(w http.ResponseWriter, r *http.Request) {
	f, ok, err := s.Findings.Get(r.PathValue("id"))
	switch {
	case err != nil:
		s.Log.Error("web: finding cannot be read", "id", r.PathValue("id"), "err", err)
		s.failJSON(w, http.StatusInternalServerError, "the finding cannot be read")
	case !ok:
		s.failJSON(w, http.StatusNotFound, "no such finding")
	default:
		s.writeJSON(w, http.StatusOK, s.whole(f))
	}
}

func (s *site) failJSON(w http.ResponseWriter, status int, reason string) {
	s.writeJSON(w, status, map[string]string{"error": reason})
}

func (s *site) writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		s.Log.Error("web: answer cannot be encoded", "err", err)
		status, text = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(text, '\n')) // a client that went away needs no answer
}
