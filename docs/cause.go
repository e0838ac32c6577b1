package docs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/internal/isolation"
)

// causes are the entries that are possible here, and the expected level's stance on the
// anomaly. The most frequent one comes first.
func (o occurrence) causes(list []entry) []string {
	strong, others := divide(list, func(e entry) bool { return e.strong })
	frequent, all := everywhere(strong), everywhere(others)
	frequentOwn, frequentLess := o.ofProducts(strong)
	own, less := o.ofProducts(others)
	_, known := o.setting()
	switch stance := o.stance(); {
	case stance == forbids && known && o.isForm():
		return slices.Concat(frequent, frequentOwn, own, o.weakened(), all)
	case stance == forbids && known:
		return slices.Concat(frequent, o.weakened(), frequentOwn, own, all)
	case stance == forbids:
		return slices.Concat(frequent, o.weakened(), frequentOwn, all, own, frequentLess, less)
	case stance == allows && !known && o.isForm():
		return slices.Concat([]string{o.allowed()}, frequent, frequentOwn, all, own)
	case stance == allows:
		return slices.Concat([]string{o.allowed()}, frequent, frequentOwn, own, all)
	case stance == lowered:
		asked := fmt.Sprintf("The transactions asked for less than %s, and what they asked for allows it: isolation in their records shows that.", o.name())
		return slices.Concat([]string{asked}, frequent, all)
	}
	return slices.Concat(frequent, frequentOwn, all, own)
}

// divide are the elements for which is holds, and the others.
func divide[T any](list []T, is func(T) bool) (those, others []T) {
	for _, x := range list {
		if is(x) {
			those = append(those, x)
		} else {
			others = append(others, x)
		}
	}
	return those, others
}

// everywhere are the causes that every product can have.
func everywhere(list []entry) []string {
	var causes []string
	for _, e := range list {
		if len(e.of) == 0 {
			causes = append(causes, e.text)
		}
	}
	return causes
}

// name is the name of the expected level or setting.
func (o occurrence) name() string {
	if s, ok := o.setting(); ok {
		return s.String()
	}
	return o.Level.String()
}

// weakened says that the transactions may have run at less than is expected, where that explains
// the anomaly.
func (o occurrence) weakened() []string {
	of, known := o.setting()
	if !known {
		if slices.ContainsFunc(isolation.AllLevels(), o.weakerAllows) {
			return []string{fmt.Sprintf("The transactions ran at a weaker level than %s: the database's default, a driver, a pool or an ORM can choose it.", o.Level)}
		}
		return nil
	}
	var causes []string
	if names := o.weaker(of); len(names) > 0 {
		allow := "allow"
		if len(names) == 1 {
			allow = "allows"
		}
		causes = append(causes, fmt.Sprintf("The transactions ran at a weaker setting: %s %s it. %s.", and(names), allow, choices[of.Product].chosen))
	}
	for _, s := range isolation.Settings(of.Product) {
		if s.Name == of.Name+replicas && s.Level.Forbids(o.anomaly) != isolation.Ruled {
			causes = append(causes, fmt.Sprintf("A transaction read a replica: then only %s holds.", s))
		}
	}
	return causes
}

// weakerAllows says whether the level is weaker than the expected one and allows some of the anomaly.
func (o occurrence) weakerAllows(l isolation.Level) bool {
	ofKeys := l == isolation.Level{Special: isolation.Linearizable} // no setting that transactions run at by mistake
	return l != o.Level && !ofKeys && o.Level.Implies(l) && l.Forbids(o.anomaly) != isolation.Ruled
}

// allowed says that the expected level allows the anomaly.
func (o occurrence) allowed() string {
	base, process := strings.CutSuffix(o.anomaly, "-process")
	base, realtime := strings.CutSuffix(base, "-realtime")
	const noFault = ". So the database is not at fault."
	switch {
	case o.Level == isolation.Level{Special: isolation.Linearizable}:
		return o.name() + " promises something of each key by itself, and nothing over several keys" + noFault
	case realtime && o.Level.Forbids(base) == isolation.Ruled, o.anomaly == "nonlinearizable":
		return o.name() + " promises nothing about real time" + noFault
	case process && o.Level.Forbids(base) == isolation.Ruled:
		return o.name() + " promises no order in a session" + noFault
	}
	return o.name() + " allows it" + noFault
}

// ofProducts are the causes that only some products have, without the settings' names where one
// is expected. Causes of settings that promise less than the expected level are apart.
func (o occurrence) ofProducts(list []entry) (causes, less []string) {
	of, known := o.setting()
	for _, e := range list {
		switch {
		case len(e.of) == 0:
		case known && e.isOf(of):
			causes = append(causes, e.sentence())
		case !known:
			weaker, as := divide(e.of, o.isWeaker)
			if o.stance() == allows {
				as = slices.DeleteFunc(as, o.rulesOut)
			}
			if len(as) > 0 {
				causes = append(causes, fmt.Sprintf("%s: %s", at(as), e.text))
			}
			if len(weaker) > 0 {
				less = append(less, fmt.Sprintf("%s, weaker than %s: %s", at(weaker), o.Level, e.text))
			}
		}
	}
	return causes, less
}

// isWeaker says whether the name is one of a setting that does not promise the level which
// forbids the anomaly.
func (o occurrence) isWeaker(name string) bool {
	l, _, err := isolation.ParseExpected(name)
	return err == nil && o.stance() == forbids && !l.Implies(o.Level)
}

// rulesOut says whether the name belongs to a setting that forbids the anomaly. A cause that
// breaks this setting does not count where the expected level allows the anomaly.
func (o occurrence) rulesOut(name string) bool {
	l, _, err := isolation.ParseExpected(name)
	return err == nil && l.Forbids(o.anomaly) == isolation.Ruled
}
