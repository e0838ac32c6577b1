package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/docs"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/words"
)

func explainCommand(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [NAME]",
		Short: "Explain an anomaly, a level or a product's setting",
		Long: "Explain prints a page in plain words. NAME is one of\n" +
			"  an anomaly         G2-item, \"write skew\", LostUpdate, P4\n" +
			"  a level            snapshot-isolation, SI, PL-3\n" +
			"  a product          postgresql, or one of its settings: postgresql/repeatable-read\n\n" +
			"Elle's names, names from papers and plain names all work. Without NAME, explain lists all pages.",
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return explained(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listExplained(t.stdout)
			}
			return explain(t.stdout, strings.Join(args, " "))
		},
	}
}

// explain prints what the name stands for. A name that is exactly one's goes before one that differs
// in what joins its words: G-SI is an anomaly, and GSI a level.
func explain(w io.Writer, name string) error {
	if strings.TrimSpace(name) == "" {
		return usagef("no name is given; 'monitor explain' lists what there is")
	}
	name = strings.TrimPrefix(strings.TrimSpace(name), ":") // Elle's keywords
	anomalies := slices.Concat(docs.Anomalies(), docs.Phenomena())
	if p, ok := docs.FormPage(name); ok {
		_, err := io.WriteString(w, docs.Readable(p.Text))
		return err
	}
	p, ok := docs.Named(anomalies, name)
	if alone, _, more := strings.Cut(name, "("); more && !ok { // as they are printed: G2-item (write skew), ThinAirRead(TAP-a)
		name = strings.TrimSpace(alone)
	}
	if _, level := docs.Named(docs.Levels(), name); !ok && !level {
		p, ok = docs.Find(anomalies, name)
	}
	if base := withoutOrder(name); !ok && base != name {
		p, ok = docs.Find(anomalies, base)
	}
	if ok {
		text := docs.Readable(p.Text)
		if section, found := strings.CutPrefix(text, "## "); found { // of a page with several
			text = "# " + section
		}
		_, err := io.WriteString(w, text)
		return err
	}
	if l, ok := isolation.Understood(name); ok {
		if text := isolation.Taken(name); text != "" {
			fmt.Fprintf(w, "Note: %s.\n\n", text)
			tellSettings(w, name)
		}
		return explainLevel(w, l)
	}
	return explainProduct(w, name)
}

// inOrder lists the endings that names and titles have where session order or real time takes part.
var inOrder = []string{"-process", "-realtime", " with session order", " with real time", " in real time", " in a session", " in sessions"}

// withoutOrder is the name without that.
func withoutOrder(name string) string {
	for _, end := range inOrder {
		if len(name) > len(end) && strings.EqualFold(name[len(name)-len(end):], end) {
			return name[:len(name)-len(end)]
		}
	}
	return name
}

// tellSettings lists what products mean by a name that is also one of their settings.
func tellSettings(w io.Writer, name string) {
	told := false
	for _, s := range isolation.Settings("") {
		if _, known, err := isolation.ParseExpected(s.Product + "/" + name); err == nil && known == s.String() {
			fmt.Fprintf(w, "%-44s stands for %s\n", s, s.Level)
			told = true
		}
	}
	if told {
		fmt.Fprintln(w)
	}
}

// explainLevel prints the level's section, and what it forbids and allows.
func explainLevel(w io.Writer, l isolation.Level) error {
	section := isolation.Level{Base: l.Underlying()}.String()
	if l.Special != 0 {
		section = l.String()
	}
	p, _ := docs.Find(docs.Levels(), section)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", l)
	formed := l.Special == 0 && l.Family != isolation.Plain
	if formed {
		fmt.Fprintf(&b, "\n%s\n", aboutForm(l, section))
	}
	_, text, _ := strings.Cut(p.Text, "\n")
	text = docs.Readable(docs.OfForm(text, formed))
	if section != l.String() {
		paragraph(&b, "Names", append([]string{l.String()}, isolation.OtherNames(l)...))
		text = strings.Replace(text, "\nNames: ", fmt.Sprintf("\nNames of %s: ", section), 1)
	}
	b.WriteString(text)
	names := map[isolation.Forbidden][]string{}
	for _, a := range isolation.AnomalyNames() {
		if isolation.RefutesLevels(a) {
			names[l.Forbids(a)] = append(names[l.Forbids(a)], a)
		}
	}
	byPage(&b, "It forbids", names[isolation.Ruled])
	byPage(&b, "It forbids some forms of", names[isolation.Partly])
	byPage(&b, "It allows", names[isolation.Allowed])
	paragraph(&b, "Also taken as this level", isolation.NearestNames(l))
	it, more := promisedBy(l)
	paragraph(&b, "Products that promise it", it)
	paragraph(&b, "Products that promise more", more)
	_, err := io.WriteString(w, b.String())
	return err
}

// aboutForm describes the difference between a form of a level and the plain level.
func aboutForm(l isolation.Level, plain string) string {
	sees := l.Base.Implies(isolation.ReadAtomic) // weaker ones promise nothing about which version is read
	if l.Family == isolation.Strong {
		text := fmt.Sprintf("This is %s with session order and real time. A transaction that ended before another one began comes first.", plain)
		if sees {
			text += "\nA transaction misses nothing that had ended before it began."
		}
		return text
	}
	text := fmt.Sprintf("This is %s with session order. The transactions of a session come in the order in which the client ran them.", plain)
	if sees {
		text += "\nA client sees its own earlier transactions. It may still read old data of other clients: to forbid that, ask for strong-" + plain + "."
	}
	return text
}

// promisedBy are the settings that promise l, by itself or with session order or real time, and those that promise a
// stronger level.
func promisedBy(l isolation.Level) (it, more []string) {
	for _, s := range isolation.Settings("") {
		switch {
		case !s.Level.Implies(l):
		case s.Level == l || s.Level.Special == 0 && s.Level.Base == l.Base:
			it = append(it, s.String())
		default:
			more = append(more, s.String())
		}
	}
	return it, more
}

// explainProduct prints the settings of a product, or one of them.
func explainProduct(w io.Writer, name string) error {
	product, setting, one := strings.Cut(name, "/")
	settings := isolation.Settings(product)
	if len(settings) == 0 {
		if why := isolation.Elsewhere(product); why != nil {
			return usageError{why}
		}
		if best := isolation.Closest(name, everyName()); best != "" {
			return usagef("nothing is called %q; did you mean %q?", printable(name), best)
		}
		return usagef("nothing is called %q; 'monitor explain' lists what there is", printable(name))
	}
	if one {
		l, known, err := isolation.ParseExpected(product + "/" + setting)
		if err != nil {
			return usageError{err}
		}
		rules := isolation.RulesOf(known)
		fmt.Fprintf(w, "# %s\n\nIt stands for %s.\n", known, l)
		if rules.Rows {
			fmt.Fprint(w, "It is about rows, not keys. A row that is inserted after another one with its key was deleted is a new row.\n")
		}
		if rules.Tracked {
			fmt.Fprint(w, "It covers only transactions that asked for serializable. A conflict with any other transaction does not violate it.\n")
		}
		fmt.Fprint(w, "\n")
		return explainLevel(w, l)
	}
	fmt.Fprintf(w, "# %s\n\n", settings[0].Product)
	for _, s := range settings {
		fmt.Fprintf(w, "%-44s stands for %s\n", s, s.Level)
	}
	return nil
}

// byPage lists anomalies with the titles of their pages: codes alone say little.
func byPage(b *strings.Builder, title string, names []string) {
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, p := range docs.Anomalies() {
		var here []string
		for _, n := range names {
			if slices.Contains(p.Names, n) {
				here = append(here, n)
			}
		}
		if len(here) > 0 {
			fmt.Fprintf(b, "  %-28s %s\n", p.Title, strings.Join(here, ", "))
		}
	}
}

// paragraph is a title and names, in lines of at most 100 characters.
func paragraph(b *strings.Builder, title string, names []string) {
	if len(names) == 0 {
		return
	}
	line := title + ":"
	b.WriteString("\n")
	for i, n := range names {
		if i < len(names)-1 {
			n += ","
		}
		if len(line)+1+len(n) > 100 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + n
	}
	b.WriteString(line + "\n")
}

// appendAdvice explains one of the findings, which stand above: the end of an answer that has some.
func appendAdvice(dst []byte, f *finding.Finding) []byte {
	happened, name, ok := docs.WhatHappened(f.Anomaly)
	if !ok {
		return dst
	}
	dst = fmt.Appendf(dst, "About the first finding, %s: %s\n\n", words.Visible(f.ID), words.Visible(f.Headline))
	dst = fmt.Appendf(dst, "%s\n\n%s\n", happened, words.Visible(f.Meaning))
	for line := range strings.Lines(words.Advice(f)) {
		dst = fmt.Appendf(dst, "  %s", words.Visible(strings.TrimSuffix(line, "\n"))+"\n")
	}
	return fmt.Appendf(dst, "\nMore: monitor explain %s\n", name)
}

// others are the anomalies that were found, in the order in which they were.
type others struct{ names []string }

func (o *others) add(f *finding.Finding) {
	if slices.Contains(o.names, f.Anomaly) {
		return
	}
	if _, ok := docs.Find(docs.Anomalies(), f.Anomaly); ok {
		o.names = append(o.names, f.Anomaly)
	}
}

// append names the pages of the anomalies beside the page of the explained finding.
func (o *others) append(dst []byte, explained *finding.Finding) []byte {
	for _, name := range o.names {
		if name != explained.Anomaly {
			dst = fmt.Appendf(dst, "About %s: monitor explain %s\n", words.Visible(name), words.Visible(name))
		}
	}
	return dst
}

// worse is the finding of the two to explain, the first unless only the other is a violation of
// what is expected.
func worse(first, next *finding.Finding) *finding.Finding {
	if first == nil {
		return next
	}
	was, _ := words.VerdictOf(first)
	is, _ := words.VerdictOf(next)
	if was != words.Violated && is == words.Violated {
		return next
	}
	return first
}

// everyName are the names of everything that has a page, with the other names of anomalies.
func everyName() []string {
	names := explained()
	for _, p := range slices.Concat(docs.Anomalies(), docs.Phenomena()) {
		names = append(names, p.Names...)
	}
	for _, t := range isolation.EveryTitle() {
		names = append(names, t.Title)
	}
	names = append(names, isolation.ProductNames()...)
	return append(names, isolation.EveryName()...)
}

// explained are the names of everything that has a page.
func explained() []string {
	var names []string
	for _, p := range slices.Concat(docs.Anomalies(), docs.Phenomena()) {
		names = append(names, p.Names[0])
	}
	names = append(names, isolation.LevelNames(isolation.AllLevels())...)
	for _, s := range isolation.Settings("") {
		names = append(names, s.String())
	}
	return names
}

func listExplained(w io.Writer) error {
	fmt.Fprintln(w, "Anomalies:")
	for _, p := range docs.Anomalies() {
		fmt.Fprintf(w, "  %-24s %s\n", p.Names[0], p.Title)
	}
	var b strings.Builder
	var elsewhere, levels, settings []string
	for _, p := range docs.Phenomena() {
		elsewhere = append(elsewhere, p.Names[0])
	}
	for _, p := range docs.Levels() {
		levels = append(levels, p.Names[0])
	}
	for _, s := range isolation.Settings("") {
		settings = append(settings, s.String())
	}
	paragraph(&b, "Anomalies that are reported under other names", elsewhere)
	paragraph(&b, "Levels, most also with strong-session- and strong- before the name", levels)
	paragraph(&b, "Settings of products", settings)
	_, err := io.WriteString(w, b.String())
	return err
}
