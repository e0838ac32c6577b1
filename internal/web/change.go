package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/isowatch/isowatch/internal/catalog"
)

// Bounds of what people say of a group.
const (
	maxChange  = 8 << 10 // bytes of a request
	maxWhy     = 1000    // bytes
	maxSilence = 366 * 24 * time.Hour
)

// howToLogIn says what lets people change something.
const howToLogIn = "Nobody can acknowledge, silence or reload here, since nobody is known: set http.user with http.password-file, http.token-file or http.client-ca-file."

// periods are how long a silence may last, for people to choose from.
var periods = []choice{{"1h", "1 hour"}, {"4h", "4 hours"}, {"24h", "1 day"}, {"168h", "7 days"}, {"720h", "30 days"}}

// who is the login that a request has shown; "" where everybody may read. The request was admitted.
func (g Guard) who(r *http.Request) string {
	_, _, basic := r.BasicAuth()
	switch {
	case g.User != "" && basic:
		return g.User
	case g.Certificate && r.TLS != nil && len(r.TLS.VerifiedChains) > 0:
		subject := &r.TLS.VerifiedChains[0][0].Subject
		if subject.CommonName != "" {
			return subject.CommonName
		}
		return "certificate " + subject.String()
	case len(g.Token) > 0 && !basic:
		return "token"
	}
	return ""
}

// changing lets requests through that come from these pages or from no page at all, of somebody
// who has shown who they are.
func (s *site) changing(next func(w http.ResponseWriter, r *http.Request, who string)) http.HandlerFunc {
	origin := http.NewCrossOriginProtection()
	if u, err := url.Parse(s.External); err == nil && u.Host != "" { // a proxy may name us by another host
		_ = origin.AddTrustedOrigin(u.Scheme + "://" + u.Host) // it is one
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if err := origin.Check(r); err != nil {
			plain(w, http.StatusForbidden, "this request comes from another site's page")
			return
		}
		who := s.Guard().who(r)
		if who == "" {
			plain(w, http.StatusForbidden, howToLogIn)
			return
		}
		next(w, r, who)
	}
}

// change is a wish of somebody about a group.
type change struct {
	group, action, why string
	until              time.Time // of a silence
}

var actions = []string{"acknowledge", "unacknowledge", "silence", "unsilence"}

// readChange reads a form. It has do, and why. A silence has for, a duration, or until, RFC 3339.
func readChange(r *http.Request, group string, now time.Time) (c change, err error) {
	if err = r.ParseForm(); err != nil {
		return c, fmt.Errorf("form: %w", err)
	}
	f := r.PostForm
	c = change{group: group, action: f.Get("do"), why: strings.TrimSpace(f.Get("why"))}
	if group == "" {
		c.group = f.Get("group")
	}
	switch {
	case !slices.Contains(actions, c.action):
		return c, fmt.Errorf(`"do" is %q, want one of %q`, c.action, actions)
	case len(c.why) > maxWhy || !utf8.ValidString(c.why):
		return c, fmt.Errorf(`"why" is longer than %d bytes, or not UTF-8`, maxWhy)
	case strings.HasPrefix(c.action, "un"):
		return c, nil
	case c.why == "":
		return c, errors.New(`"why" is empty: say why, for those who come after you`)
	case c.action == "acknowledge":
		return c, nil
	}
	if text := f.Get("until"); text != "" {
		if c.until, err = time.Parse(time.RFC3339, text); err != nil {
			return c, errors.New(`"until" is not a time in the form of RFC 3339`)
		}
	} else {
		d, err := duration(f.Get("for"))
		if err != nil {
			return c, errors.New(`a silence needs "for", such as 4h or 2d, or "until", a time in the form of RFC 3339`)
		}
		c.until = now.Add(d)
	}
	if !c.until.After(now) || c.until.After(now.Add(maxSilence)) {
		return c, errors.New("a silence ends in the future, within a year")
	}
	return c, nil
}

// duration reads how long a silence is: as Go's durations are written, or in days.
func duration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// apply changes the marks of a group as c says.
func (c *change) apply(m *catalog.Marks, who string, now time.Time) {
	mark := &catalog.Mark{Who: who, Why: c.why, At: now.UnixNano()}
	switch c.action {
	case "acknowledge":
		m.Acknowledged = mark
	case "unacknowledge":
		m.Acknowledged = nil
	case "silence":
		mark.Until = c.until.UnixNano()
		m.Silenced = mark
	case "unsilence":
		m.Silenced = nil
	}
}

// retryAfter is in how many seconds the index of stored findings may know more.
const retryAfter = "5"

// takeChange reads a change and makes it.
func (s *site) takeChange(w http.ResponseWriter, r *http.Request, group, who string) (c change, m catalog.Marks, status int, err error) {
	now := s.Now()
	if c, err = readChange(r, group, now); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return c, m, http.StatusRequestEntityTooLarge, fmt.Errorf("the request is longer than %d bytes", maxChange)
		}
		return c, m, http.StatusBadRequest, err
	}
	m, err = s.Groups.Mark(c.group, func(m *catalog.Marks) { c.apply(m, who, now) })
	switch {
	case errors.Is(err, ErrNoGroup):
		return c, m, http.StatusNotFound, errors.New("there is no such group: its findings may have been removed with old ones, or have no room in the index")
	case errors.Is(err, ErrFilling):
		w.Header().Set("Retry-After", retryAfter)
		return c, m, http.StatusServiceUnavailable, err
	case errors.Is(err, ErrTooManyMarks):
		return c, m, http.StatusConflict, err
	case err != nil:
		s.Log.Error("web: a group cannot be marked", "group", c.group, "err", err)
		return c, m, http.StatusInternalServerError, errors.New("it cannot be stored; the log says why")
	}
	s.Log.Info("a group of findings was marked", "group", c.group, "do", c.action, "who", who, "why", c.why)
	return c, m, http.StatusOK, nil
}

// changePage takes the forms of a group's page, and leads back there.
func (s *site) changePage(w http.ResponseWriter, r *http.Request, who string) {
	c, _, status, err := s.takeChange(w, r, "", who)
	if err != nil {
		s.failPage(w, status, "Not changed", err.Error())
		return
	}
	http.Redirect(w, r, s.Base+"/findings?group="+url.QueryEscape(c.group), http.StatusSeeOther)
}

func (s *site) changeJSON(w http.ResponseWriter, r *http.Request, who string) {
	_, m, status, err := s.takeChange(w, r, r.PathValue("group"), who)
	if err != nil {
		s.failJSON(w, status, err.Error())
		return
	}
	s.writeJSON(w, http.StatusOK, newMarksJSON(m, s.Now()))
}

// ErrNoFile: the service was started without a file of settings.
var ErrNoFile = errors.New("there is no file of settings to read again: start with --config")

// reload reads the settings again, as SIGHUP does.
func (s *site) reload(w http.ResponseWriter, r *http.Request, who string) {
	s.Log.Info("a reload was asked for", "who", who)
	var waiting []string
	err := ErrNoFile
	if s.Reload != nil {
		waiting, err = s.Reload(r.Context())
	}
	switch {
	case errors.Is(err, ErrNoFile):
		plain(w, http.StatusConflict, err.Error())
	case err != nil:
		plain(w, http.StatusInternalServerError, "failed to reload: "+err.Error())
	case len(waiting) > 0:
		plain(w, http.StatusOK, "reloaded, except for settings that wait for a restart: "+strings.Join(waiting, ", "))
	default:
		plain(w, http.StatusOK, "reloaded. All settings of the file are in effect.")
	}
}
