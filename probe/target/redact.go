package target

import (
	"net/url"
	"strings"
)

// Redact is the URL without its password, for messages.
func Redact(text string) string {
	if s := scheme(text); s == "sim" || s == "exec" || s == "sqlite" {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		before, _, _ := strings.Cut(text, "://")
		return before + "://..."
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), "xxxxx")
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Set(name, "xxxxx")
			u.RawQuery = query.Encode()
		}
	}
	return u.String()
}
