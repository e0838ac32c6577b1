package docs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/internal/isolation"
)

// steps are the entries that are to be taken here.
func (o occurrence) steps(list []entry) []string {
	of, known := o.setting()
	var steps, without []string
	for _, e := range list {
		switch {
		case e.instead && o.stance() == forbids:
			if len(e.of) == 0 || known && e.isOf(of) {
				without = append(without, strings.TrimSuffix(e.text[len("or "):], "."))
			}
		case e.ifRuled && (o.stance() == allows || o.stance() == lowered): // then nobody is at fault
		case e.ifRuled && o.stance() == forbids:
			text := strings.TrimPrefix(e.text, Readable(ruledStep))
			steps = append(steps, strings.ToUpper(text[:1])+text[1:])
		case e.byLevel:
			steps = append(steps, o.levelSteps()...)
		case len(e.of) == 0 || known && e.isOf(of):
			steps = append(steps, e.sentence())
		case !known:
			steps = append(steps, fmt.Sprintf("%s: %s", at(e.of), e.text))
		}
	}
	if o.stance() == allows && !slices.ContainsFunc(list, func(e entry) bool { return e.byLevel }) {
		steps = append(steps, o.raise())
	}
	if len(without) > 0 && known && len(o.weakened()) > 0 {
		steps = append(steps, "If they ran at less on purpose: "+strings.Join(without, ", or ")+".")
	}
	return append(steps, o.lastSteps(steps)...)
}

// lastSteps are the steps that are left against an anomaly that the level forbids, when the
// others are taken.
func (o occurrence) lastSteps(others []string) []string {
	const report = "report it to the product"
	var steps []string
	if o.stance() != forbids {
		return nil
	}
	if !slices.ContainsFunc(others, func(s string) bool { return strings.Contains(s, report) }) {
		steps = append(steps, "If no cause fits, "+report+".")
	}
	if len(o.weakened()) > 0 {
		steps = append(steps, "If the application can live with it, expect less with --expect. It is then counted, and raises no alert.")
	}
	return steps
}

// levelSteps are the steps about the level.
func (o occurrence) levelSteps() []string {
	switch o.stance() {
	case forbids:
		if len(o.weakened()) == 0 {
			return nil
		}
		return []string{o.ask()}
	case lowered:
		return []string{fmt.Sprintf("If these transactions cannot live with it, let them ask for %s.", o.name())}
	case allows:
		return []string{o.raise()}
	}
	return []string{fmt.Sprintf("Does the level allow it? If you cannot live with it, use a setting that forbids it: monitor explain %s names them.", o.page())}
}

// page is the name to ask explain for, to read of this form of the anomaly.
func (o occurrence) page() string {
	p, _ := Find(Anomalies(), o.anomaly)
	f, _, _ := formOf(o.anomaly)
	return p.Names[0] + f.suffix
}

// ask says how to see at which level the transactions ran.
func (o occurrence) ask() string {
	if s, ok := o.setting(); ok {
		return fmt.Sprintf("Make sure that they ran at %s. %s.", s, choices[s.Product].asked)
	}
	return fmt.Sprintf("Make sure that they ran at %s: ask for the level on a connection of the application.", o.Level)
}

// raise says what to use instead of a level that allows the anomaly.
func (o occurrence) raise() string {
	const need = "If the application needs it kept out, "
	of, known := o.setting()
	if !known {
		return need + o.stronger() + "."
	}
	if m, ok := o.mend(of); ok && !o.Level.Implies(m.Level) {
		retry := ""
		if m.Level.Implies(isolation.Level{Base: isolation.SnapshotIsolation}) {
			retry = ", and retry transactions that fail with a conflict"
		}
		return need + fmt.Sprintf("use %s%s.", m, retry)
	}
	return need + fmt.Sprintf("order these transactions in the application: no setting of %s is known to forbid it.", of.Product)
}

// stronger says which level forbids what the expected one allows, with settings that promise it.
func (o occurrence) stronger() string {
	l, ok := o.least()
	if !ok {
		return "order these transactions in the application"
	}
	use := "use " + l.String()
	if l != (isolation.Level{Base: isolation.Serializable, Family: isolation.Strong}) {
		use += " or a stronger level"
	}
	const most = 4
	settings := asStrong(l)
	switch {
	case len(settings) == 0:
		return use
	case len(settings) <= most:
		return fmt.Sprintf("%s. These settings promise it: %s", use, and(settings))
	}
	return fmt.Sprintf("%s, such as %s: monitor explain %s names all settings", use, and(settings[:most]), l)
}
