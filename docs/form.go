package docs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/internal/isolation"
)

// form is a variant of an anomaly: its cycle has session order or real time on it.
type form struct {
	suffix string   // of the anomaly's name
	title  string   // in words, behind the plain form's title
	on     string   // what is on the cycle
	called []string // the ends of titles that findings of it have
	file   string   // its causes and steps, which differ from the plain form's
}

var forms = []form{
	{"-process", "with session order", "the order of a session", []string{"with session order", "in a session", "in sessions"}, "session-order.md"},
	{"-realtime", "in real time", "real time", []string{"in real time", "with real time"}, "real-time.md"},
}

// formOf is the form of the anomaly, and the name of its plain form. ok is false for a plain form.
func formOf(anomaly string) (f form, plainForm string, ok bool) {
	for _, f := range forms {
		if name, found := strings.CutSuffix(anomaly, f.suffix); found {
			return f, name, true
		}
	}
	return form{}, anomaly, false
}

// FormPage is the page of a form of an anomaly, by its name or its title: G0-realtime, or
// "write cycle in real time". false: the name is not a form's.
func FormPage(name string) (Page, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, f := range forms {
		for _, end := range f.called {
			if title, ok := strings.CutSuffix(name, " "+end); ok {
				name = title + f.suffix
			}
		}
	}
	f, plainName, ok := formOf(name)
	of, known := Find(Anomalies(), plainName)
	if !ok || !known || !slices.Contains(of.Names, of.Names[0]+f.suffix) {
		return Page{}, false
	}
	anomaly := of.Names[0] + f.suffix
	general := fileOf(f.file)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s %s\n\nNames: `%s`.\n\n", of.Title, f.title, anomaly)
	fmt.Fprintf(&b, "This is a form of %s: %s is on the cycle. `monitor explain %s` shows the plain form.\n", strings.ToLower(of.Title), f.on, of.Names[0])
	fmt.Fprintf(&b, "\n## What happened\n\n%s\n", general.Section("What happened"))
	if example := of.Section(f.heading()); example != "" {
		fmt.Fprintf(&b, "\n## Example\n\n%s\n", example)
	}
	fmt.Fprintf(&b, "\n## Levels that forbid it\n\n%s\n", settingsOfForm(anomaly))
	for _, part := range []string{"Usual causes", "What to do"} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", part, general.Section(part))
	}
	return Page{Title: of.Title + " " + f.title, Names: []string{anomaly}, Text: b.String()}, true
}

// heading is the heading of a page's section that shows the form, where it has one.
func (f form) heading() string { return strings.ToUpper(f.title[:1]) + f.title[1:] }

// settingsOfForm is the text of the plain form's page about settings against this one.
func settingsOfForm(anomaly string) string {
	f, _, _ := formOf(anomaly)
	return fmt.Sprintf("%s (`%s`), %s", f.heading(), anomaly, forbidding(anomaly))
}

// forbidding says which level and settings forbid every cycle of the form.
func forbidding(anomaly string) string {
	least := leastOf(anomaly)
	text := fmt.Sprintf("the weakest level that forbids all of it is `%s`.", least[0])
	if len(least) > 1 {
		text = "the weakest levels that forbid all of it are `" + strings.Join(least, "` and `") + "`."
	}
	if mends := Mends(anomaly); len(mends) > 0 {
		return text + " The weakest settings that do: `" + strings.Join(mends, "`, `") + "`."
	}
	return text + " No setting of a product is known to do so."
}

// leastOf are the levels that forbid the anomaly, and imply no other one that does. There are two where
// neither implies the other.
func leastOf(anomaly string) []string {
	enough := slices.DeleteFunc(isolation.AllLevels(), func(l isolation.Level) bool { return l.Forbids(anomaly) != isolation.Ruled })
	return isolation.LevelNames(slices.DeleteFunc(slices.Clone(enough), func(l isolation.Level) bool {
		return slices.ContainsFunc(enough, func(weaker isolation.Level) bool { return weaker != l && l.Implies(weaker) })
	}))
}

// fileOf is a file of this package that is in the program.
func fileOf(name string) Page {
	text, _ := files.ReadFile(name)
	return Page{Text: string(text)}
}

// advisedBy is the page that holds causes and steps of the anomaly. false: it has none.
func advisedBy(anomaly string) (Page, bool) {
	f, name, ok := formOf(anomaly)
	p, known := Named(Anomalies(), name)
	if ok {
		p = fileOf(f.file)
	}
	return p, known
}

// asStrong are the weakest setting of each product that promises the level.
func asStrong(l isolation.Level) []string {
	var names []string
	for _, s := range isolation.Settings("") {
		same := func(n string) bool { return strings.HasPrefix(n, s.Product+"/") }
		if s.Level.Implies(l) && !slices.ContainsFunc(names, same) && !strings.HasSuffix(s.Name, replicas) {
			names = append(names, s.String())
		}
	}
	return names
}

// WhatHappened tells in plain text what an anomaly is, without what is about the example of its page,
// and what to ask explain for. false: it has no page.
func WhatHappened(anomaly string) (text, name string, ok bool) {
	p, ok := advisedBy(anomaly)
	if !ok {
		return "", "", false
	}
	return Readable(p.Section("What happened")), occurrence{anomaly: anomaly}.page(), true
}

// isForm says whether session order or real time is on the cycle.
func (o occurrence) isForm() bool {
	_, _, ok := formOf(o.anomaly)
	return ok
}
