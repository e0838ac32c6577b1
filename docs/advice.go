package docs

import (
	"regexp"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/internal/isolation"
)

// Advice is a finding's text for a person who has to act on it. It is empty for an anomaly that
// has no page.
type Advice struct {
	Causes []string // the likely ones, the likeliest first
	Next   []string // what to do, in this order
}

// maxCauses is how many causes a person reads of a finding.
const maxCauses = 5

// AdviceOn is the advice of the anomaly's page to somebody who has a finding of it and expects
// e. With a product, it is about that product and its setting only. Without one, causes of
// products are told with the settings that have them.
func AdviceOn(anomaly string, e Expected) Advice {
	p, ok := advisedBy(anomaly)
	if !ok {
		return Advice{}
	}
	o := occurrence{anomaly, e}
	causes := o.causes(entries(p.Section("Usual causes")))
	return Advice{causes[:min(len(causes), maxCauses)], o.steps(entries(p.Section("What to do")))}
}

// entry is one of a list on a page, of certain products or settings, or of all.
type entry struct {
	of      []string // postgresql, or postgresql/serializable; nil: of all
	text    string   // without marks
	strong  bool     // it stands in bold: the most frequent
	instead bool     // it is a way to do without a stronger level
	byLevel bool     // what is to be done depends on the expected level: it is told in its words
	ifRuled bool     // it is for those only whose level forbids the anomaly
}

var (
	// item is the beginning of an entry of a list.
	item = regexp.MustCompile(`(?m)^(?:- |\d+\. )`)
	// owners are the products and settings that an entry is of.
	owners = regexp.MustCompile("^`[a-z0-9/-]+`(?:, `[a-z0-9/-]+`)*: ")
)

// levelStep begins the step of a page that depends on the level that is expected.
const levelStep = "**Level**: "

// ruledStep begins a step for those whose level forbids the anomaly.
const ruledStep = "**If your level forbids it**: "

// entries are the entries of a list of Markdown.
func entries(list string) []entry {
	var all []entry
	for _, text := range item.Split(list, -1)[1:] {
		var e entry
		of := owners.FindString(text)
		for _, name := range strings.Split(strings.TrimSuffix(of, ": "), ", ") {
			if of != "" {
				e.of = append(e.of, strings.Trim(name, "`"))
			}
		}
		text = text[len(of):]
		e.byLevel = strings.HasPrefix(text, levelStep)
		e.ifRuled = strings.HasPrefix(text, ruledStep)
		e.strong = strings.HasPrefix(text, "**")
		e.text = strings.TrimSpace(Readable(text))
		e.instead = strings.HasPrefix(strings.ToLower(e.text), "or ")
		all = append(all, e)
	}
	return all
}

// isOf says whether the entry is of the setting, or of its product at any setting.
func (e *entry) isOf(s isolation.Setting) bool {
	return slices.Contains(e.of, s.Product) || slices.Contains(e.of, s.String())
}

// sentence is the text of an entry that stands without its owners. A setting's name stays as it is.
func (e *entry) sentence() string {
	first, _, _ := strings.Cut(e.text, " ")
	if len(e.of) == 0 || strings.Contains(first, "_") {
		return e.text
	}
	return strings.ToUpper(e.text[:1]) + e.text[1:]
}

// and is a list in words.
func and(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// at are products and settings in words: a setting that several of them have is named once.
func at(names []string) string {
	_, setting, _ := strings.Cut(names[0], "/")
	var products []string
	for _, n := range names {
		name, its, _ := strings.Cut(n, "/")
		if its != setting || its != "" && len(names) == 1 {
			return and(names)
		}
		products = append(products, product(name))
	}
	if setting == "" {
		return and(products)
	}
	return and(products) + " at " + strings.ReplaceAll(setting, "-", " ")
}
