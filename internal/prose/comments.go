package prose

import (
	"regexp"
	"strings"
)

var (
	ownLine    = regexp.MustCompile(`^\s*#+ ?(.*)`)
	behind     = regexp.MustCompile(`\s#\s(.*)`)
	setting    = regexp.MustCompile(`^ {2}|^\w+: [{\[]`) // an example of the file's own language
	annotation = regexp.MustCompile(`(?m)^\s+(?:summary|description): (.*)$`)
	action     = regexp.MustCompile(`\{\{.*?\}\}`)
	tag        = regexp.MustCompile(`(?s)<(/?[a-z][^<>]*|!doctype[^>]*)>`)
	inWords    = regexp.MustCompile(`</?(code|b|a|span)\b[^<>]*>`)
)

// Comments are the texts of the comments of a YAML file, a Dockerfile or a shell script. Lines
// of nothing but a comment are one text as long as they follow each other.
func Comments(file string) []string {
	var all []string
	joins := false
	for line := range strings.Lines(file) {
		line = strings.TrimRight(line, "\r\n")
		if m := ownLine.FindStringSubmatch(line); m != nil && !strings.HasPrefix(line, "#!") {
			text := strings.TrimRight(m[1], " ")
			switch {
			case text == "" || setting.MatchString(text):
				joins = false
			case joins:
				all[len(all)-1] += " " + text
			default:
				all, joins = append(all, text), true
			}
			continue
		}
		joins = false
		if m := behind.FindStringSubmatch(line); m != nil {
			all = append(all, m[1])
		}
	}
	return all
}

// Annotations are the texts of a file of alert rules: summaries and descriptions. What a
// template puts in becomes the word CODE.
func Annotations(rules string) []string {
	var all []string
	for _, m := range annotation.FindAllStringSubmatch(rules, -1) {
		all = append(all, strings.Trim(action.ReplaceAllString(m[1], " CODE"), "'\""))
	}
	return all
}

// Page is the text of a template of HTML.
func Page(template string) string {
	text := action.ReplaceAllString(inWords.ReplaceAllString(template, ""), "CODE")
	return tag.ReplaceAllString(text, "\n\n")
}
