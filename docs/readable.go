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

// home is where the documentation can be read without a checkout.
const home = "https://github.com/isowatch/isowatch/blob/main/docs/"

// Readable is Markdown without what only a browser shows. Links have their addresses behind them.
func Readable(page string) string {
	page = pictures.ReplaceAllString(page, "")
	page = fences.ReplaceAllString(page, "")
	page = links.ReplaceAllStringFunc(page, func(link string) string {
		m := links.FindStringSubmatch(link)
		return m[1] + " <" + address(m[2]) + ">"
	})
	return marks.Replace(page)
}

// address is the whole address of a link on a page of docs/anomalies, or in docs/levels.md.
func address(target string) string {
	if strings.Contains(target, "://") {
		return target
	}
	return home + strings.TrimPrefix(target, "../")
}
