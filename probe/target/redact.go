package target

import (
	"net/url"
	"strings"
)

// hidden stands for a password.
const hidden = "xxxxx"

// Redact is the URL without its password, for messages. It leaves hardly anything of a text
// that is not a URL.
func Redact(text string) string {
	switch scheme(text) {
	case "sim", "exec", "sqlite":
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		before, _, found := strings.Cut(text, "://")
		if !found {
			return "..."
		}
		return before + "://..."
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), hidden)
	}
	query, changed := u.Query(), false
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Set(name, hidden)
			changed = true
		}
	}
	if changed {
		u.RawQuery = query.Encode()
	}
	return u.String()
}
