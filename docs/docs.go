// Package docs holds the pages that the program can show. There is one for each kind of finding
// (anomalies), and one for other names of anomalies (phenomena.md). Others are the forms of
// anomalies (session-order.md, real-time.md), and the promise of each level (levels.md).
//
// The package is a part of the monitor. It promises nothing to importers: names and behaviour change
// without notice.
package docs

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:embed anomalies/*.md levels.md phenomena.md session-order.md real-time.md
var files embed.FS

// Page is a page, or a section of one, in Markdown.
type Page struct {
	Title string
	Names []string // that it goes by, the field's first
	Text  string
}

// anomalies are read once: each machine asks for the advice on its findings, and tests make thousands
// of machines.
var anomalies = readAnomalies()

// Anomalies are the pages of all kinds of findings, by their titles.
func Anomalies() []Page { return slices.Clone(anomalies) }

func readAnomalies() []Page {
	names, _ := fs.Glob(files, "anomalies/*.md")
	var pages []Page
	for _, name := range names {
		text, _ := files.ReadFile(name) // it is in the program
		pages = append(pages, pageOf(string(text), "# "))
	}
	slices.SortFunc(pages, func(a, b Page) int { return strings.Compare(a.Title, b.Title) })
	return pages
}

// Levels are the sections of levels.md that tell of a level.
func Levels() []Page { return sections("levels.md") }

// Phenomena are the sections of phenomena.md: anomalies that findings have no such name for.
func Phenomena() []Page { return sections("phenomena.md") }

// sections are the sections of a file that have names.
func sections(file string) []Page {
	text, _ := files.ReadFile(file)
	var pages []Page
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		if p := pageOf("## "+section, "## "); len(p.Names) > 0 {
			pages = append(pages, p)
		}
	}
	return pages
}

// plainForm begins a paragraph of a level that is about its plain form alone.
const plainForm = "**The plain form**: "

// OfForm is the text of a level without what is about its plain form, where another form is meant.
func OfForm(text string, other bool) string {
	var parts []string
	for _, part := range strings.Split(text, "\n\n") {
		switch {
		case !strings.HasPrefix(part, plainForm):
			parts = append(parts, part)
		case !other:
			part = strings.TrimPrefix(part, plainForm)
			parts = append(parts, strings.ToUpper(part[:1])+part[1:])
		}
	}
	return strings.TrimRight(strings.Join(parts, "\n\n"), "\n") + "\n"
}

// pageOf reads the title, and the names from the line "Names: `a`, b, c.".
func pageOf(text, heading string) Page {
	title, _, _ := strings.Cut(strings.TrimPrefix(text, heading), "\n")
	p := Page{Title: title, Text: strings.TrimSpace(text) + "\n"}
	if _, rest, ok := strings.Cut(text, "\nNames: "); ok {
		names, _, _ := strings.Cut(rest, ".\n")
		p.Names = strings.Split(strings.ReplaceAll(names, "`", ""), ", ")
	}
	return p
}

// Named is the page with exactly that name, in any case of letters.
func Named(pages []Page, name string) (Page, bool) {
	for _, p := range pages {
		if slices.ContainsFunc(p.Names, func(n string) bool { return strings.EqualFold(n, strings.TrimSpace(name)) }) {
			return p, true
		}
	}
	return Page{}, false
}

// Find is the page that goes by the name. Case, spaces, hyphens, underscores and a plural make no
// difference.
func Find(pages []Page, name string) (Page, bool) {
	want := plain(name)
	same := func(n string) bool { return plain(n) == want || plain(n) == strings.TrimSuffix(want, "s") }
	for _, p := range pages {
		if slices.ContainsFunc(p.Names, same) || same(p.Title) {
			return p, true
		}
	}
	return Page{}, false
}

var bare = strings.NewReplacer(" ", "", "-", "", "_", "")

func plain(name string) string { return bare.Replace(strings.ToLower(name)) }

// Section is the text below a heading of the page, "" if the page lacks that heading.
func (p Page) Section(heading string) string {
	_, rest, _ := strings.Cut(p.Text, "\n## "+heading+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	return strings.TrimSpace(text)
}
