package docs

import (
	"regexp"
	"strings"
)

var (
	pictures = regexp.MustCompile(`(?m)^!\[.*\n\n?`)
	links    = regexp.MustCompile(`\[([^\]]*)\]\(([^)]*)\)`)
	fences   = regexp.MustCompile("(?m)^```.*\n")
	marks    = strings.NewReplacer("**", "", "`", "")
)

// Readable is Markdown without what only a browser shows.
func Readable(page string) string {
	page = pictures.ReplaceAllString(page, "")
	page = fences.ReplaceAllString(page, "")
	page = links.ReplaceAllStringFunc(page, func(link string) string {
		m := links.FindStringSubmatch(link)
		if strings.HasPrefix(m[2], "https://") {
			return m[1] + " <" + m[2] + ">"
		}
		return m[1]
	})
	return marks.Replace(page)
}
