package epoch

import (
	"net/url"
	"regexp"
	"strings"
)

// hidden stands for a password.
const hidden = "xxxxx"

// Mask hides the password in a text where it stands as a password. That is before the @ of a
// URL or of a data source name, and behind password=. The same letters elsewhere stay:
// "postgres" is a user, too.
func Mask(text, password string) string {
	if password == "" {
		return text
	}
	forms := make([]string, 0, 3)
	for _, form := range []string{password, url.QueryEscape(password), url.PathEscape(password)} {
		forms = append(forms, regexp.QuoteMeta(form))
	}
	standing := regexp.MustCompile(`(:|(?i:password|passwd|pwd)\s*=\s*'?)(?:` + strings.Join(forms, "|") + `)(@|'|&|\s|$)`)
	return standing.ReplaceAllString(text, "${1}"+hidden+"${2}")
}
