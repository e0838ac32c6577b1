package web

import "net/http"

// unitsPage leads to a page of the unit that has the source of the query. If several units may have it, it lists them. So links of
// alerts that name no unit work on any member.
func (s *site) unitsPage(w http.ResponseWriter, r *http.Request, o *GroupOptions, path string) {
	source := r.URL.Query().Get("source")
	units, err := o.UnitsOf(r.Context(), source)
	if err != nil {
		s.Log.Debug("web: the group cannot be shown", "err", err) // the answer says why
		plain(w, http.StatusServiceUnavailable, "the group cannot be shown: "+err.Error())
		return
	}
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}
	if len(units) == 1 {
		http.Redirect(w, r, s.Base+units[0].Pages+path, http.StatusSeeOther)
		return
	}
	s.groupHTML(w, "units", struct {
		Base, Source, Path string
		Units              []GroupUnit
	}{s.Base, source, path, units})
}

// groupHTML writes a page of the group.
func (s *site) groupHTML(w http.ResponseWriter, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err := pages().ExecuteTemplate(w, name, data); err != nil {
		s.Log.Error("web: page failed", "err", err) // the client went away, or it is seen in tests
	}
}
