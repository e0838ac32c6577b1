package docs

import (
	"regexp"
	"slices"
	"strings"
)

// Advice is what a finding says for a person who has to act on it. It is empty for an anomaly
// that has no page.
type Advice struct {
	Causes []string // the likely ones, the likeliest first
	Next   []string // what to do, in this order
}

// maxCauses is how many causes a person reads of a finding.
const maxCauses = 4

// AdviceOn is what the page of the anomaly says. With a setting, such as
// postgresql/repeatable-read, causes that only other products have are left out, and what
// happens at this setting comes first. Without one ("") causes that every product can have come
// first. At most maxCauses are named.
func AdviceOn(anomaly, setting string) Advice {
	name := strings.TrimSuffix(strings.TrimSuffix(anomaly, "-process"), "-realtime")
	text, err := files.ReadFile("anomalies/" + name + ".md")
	if err != nil {
		return Advice{}
	}
	p := Page{Text: string(text)}
	return Advice{likely(items(p.Section("Usual causes")), setting), items(p.Section("What to do"))}
}

// item is the beginning of an entry of a list.
var item = regexp.MustCompile(`(?m)^(?:- |\d+\. )`)

// items are the entries of a list, without its marks.
func items(list string) []string {
	var all []string
	for _, text := range item.Split(list, -1)[1:] {
		all = append(all, strings.TrimSpace(Readable(text)))
	}
	return all
}

// likely are the causes that are possible at the setting, the likeliest first.
func likely(causes []string, setting string) []string {
	product, level, _ := strings.Cut(strings.ToLower(setting), "/")
	level = strings.ReplaceAll(level, "-", " ")
	if product != "" {
		causes = slices.DeleteFunc(causes, func(c string) bool { return distance(c, product, level) == elsewhere })
	}
	slices.SortStableFunc(causes, func(a, b string) int { return distance(a, product, level) - distance(b, product, level) })
	return causes[:min(len(causes), maxCauses)]
}

// How near a cause is to a product's setting.
const (
	here      = iota // it names the setting
	near             // it names the product and no setting, or no product at all
	far              // it names another setting of the product
	elsewhere        // it names other products only
)

// productNames are products as the pages write them, and as settings name them.
var productNames = []string{
	"postgresql", "mysql", "mariadb", "galera", "sqlite", "cockroachdb", "yugabytedb", "tidb", "mongodb", "spanner", "cassandra", "etcd", "oracle",
}

// settingNames are settings as the pages write them.
var settingNames = []string{
	"read uncommitted", "read committed", "repeatable read", "snapshot isolation", "serializable", "optimistic", "snapshot", "majority", "local",
}

func distance(cause, product, level string) int {
	text := strings.ToLower(cause)
	has := func(name string) bool { return strings.Contains(text, name) }
	galera := has("galera") && (product == "mysql" || product == "mariadb")
	switch {
	case !slices.ContainsFunc(productNames, has):
		return near
	case product == "" || !has(product) && !galera:
		return elsewhere
	case has(level):
		return here
	case slices.ContainsFunc(settingNames, has):
		return far
	}
	return near
}

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
