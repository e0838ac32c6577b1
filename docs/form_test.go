package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
)

// ofStatements are words of causes and steps that explain an anomaly within one transaction. None of
// them explains old data.
var ofStatements = []string{"snapshot of its own", "locking read", "read skew", "lock what you read", "share no snapshot", "tracked", "compared at the commit", "no locks", "gaps between", "fractured"}

// A form with session order or real time has causes and steps of its own.
func TestAdviceOnForms(t *testing.T) {
	for _, anomaly := range isolation.AnomalyNames() {
		if _, _, ok := formOf(anomaly); !ok {
			continue
		}
		for _, e := range expectations() {
			e.Allowed = e.Level.Forbids(anomaly) == isolation.Allowed
			a := AdviceOn(anomaly, e)
			all := strings.Join(slices.Concat(a.Causes, a.Next), "\n")
			for _, words := range ofStatements {
				if strings.Contains(all, words) {
					t.Errorf("%s at %s: %q in\n%s", anomaly, e.Level, words, all)
				}
			}
			if !strings.Contains(all, "a replica") || !strings.Contains(all, "Which node answered") {
				t.Errorf("%s at %s: no replica in\n%s", anomaly, e.Level, all)
			}
		}
	}
}

// expectations are all levels, and all settings of products.
func expectations() []Expected {
	var all []Expected
	for _, l := range isolation.AllLevels() {
		all = append(all, Expected{Level: l})
	}
	for _, s := range isolation.Settings("") {
		all = append(all, Expected{Setting: s.String(), Level: s.Level})
	}
	return all
}

// What to use instead of a level that allows the anomaly forbids this form of it, keeps what is
// promised now, and has settings that promise it.
func TestStronger(t *testing.T) {
	for _, c := range []struct{ anomaly, expect, want string }{
		{"G-single-item-realtime", "serializable", "use strong-serializable. These settings promise it: spanner/serializable and etcd/linearizable."},
		{"G-single-item-realtime", "snapshot-isolation", "use strong-snapshot-isolation or a stronger level. These settings promise it: spanner/repeatable-read and etcd/linearizable."},
		{"G-single-item-process", "serializable", "use strong-session-serializable or a stronger level, such as postgresql/serializable, mysql/serializable, mariadb/serializable and sqlite/serializable: monitor explain strong-session-serializable names all settings."},
		{"nonlinearizable", "serializable", "use strong-serializable. These settings promise it: spanner/serializable and etcd/linearizable."},
		{"G-single-item-realtime", "cockroachdb/serializable", "order these transactions in the application: no setting of cockroachdb is known to forbid it."},
		{"G-single-item-process", "mongodb/snapshot", "order these transactions in the application: no setting of mongodb is known to forbid it."},
		{"G-single-item-realtime", "etcd/serializable", "use etcd/linearizable, and retry transactions that fail with a conflict."},
		{"G0", "mongodb/linearizable", "use mongodb/snapshot, and retry transactions that fail with a conflict."},
		{"G0", "cassandra/lwt", "order these transactions in the application: no setting of cassandra is known to forbid it."},
	} {
		a := AdviceOn(c.anomaly, expecting(t, c.expect, c.anomaly))
		if !slices.ContainsFunc(a.Next, func(s string) bool { return strings.HasSuffix(s, ", "+c.want) }) {
			t.Errorf("%s at %s: %q, want %q", c.anomaly, c.expect, a.Next, c.want)
		}
	}
}

// named is a setting in a text.
func named(text string) []isolation.Setting {
	return slices.DeleteFunc(isolation.Settings(""), func(s isolation.Setting) bool {
		return !slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,.:`()\n", r) }), func(word string) bool { return word == s.String() })
	})
}

// Every setting that a step tells to use, or a page lists for a form, forbids the anomaly.
func TestNamedSettingsForbid(t *testing.T) {
	for _, anomaly := range isolation.AnomalyNames() {
		if !isolation.RefutesLevels(anomaly) {
			continue
		}
		texts := Mends(anomaly)
		if p, ok := FormPage(anomaly); ok {
			texts = append(texts, p.Section("Levels that forbid it"))
		}
		for _, e := range expectations() {
			if e.Allowed = e.Level.Forbids(anomaly) == isolation.Allowed; !e.Allowed {
				continue
			}
			for _, step := range AdviceOn(anomaly, e).Next {
				if _, use, ok := strings.Cut(step, ", use "); ok {
					texts = append(texts, use)
				}
			}
		}
		for _, text := range texts {
			for _, s := range named(text) {
				if s.Level.Forbids(anomaly) != isolation.Ruled {
					t.Errorf("%s does not forbid %s: %q", s, anomaly, text)
				}
			}
		}
	}
}

// What the expected level allows is nobody's fault, and no product hears of it.
func TestAllowedIsNotReported(t *testing.T) {
	for _, anomaly := range isolation.AnomalyNames() {
		for _, e := range expectations() {
			e.Allowed = true
			a := AdviceOn(anomaly, e)
			if all := strings.Join(slices.Concat(a.Causes, a.Next), "\n"); isolation.RefutesLevels(anomaly) && (strings.Contains(all, "report it") || strings.Contains(all, "no level allows")) {
				t.Errorf("%s at %s%s:\n%s", anomaly, e.Setting, e.Level, all)
			}
		}
	}
}

// A bug of a product that breaks its promise is no cause where the expected level allows the anomaly.
func TestBugsAreNoCauseOfWhatIsAllowed(t *testing.T) {
	a := AdviceOn("G-single-item", expecting(t, "read-committed", "G-single-item"))
	if all := strings.Join(a.Causes, "\n"); strings.Contains(all, "4.2.6") || !strings.Contains(all, "snapshot of its own") {
		t.Errorf("%s", all)
	}
}

// A weaker level is a cause only where it allows the anomaly.
func TestWeakerLevelExplains(t *testing.T) {
	for _, c := range []struct {
		anomaly, expect string
		cause           bool
	}{
		{"G0", "serializable", false}, {"duplicate-elements", "snapshot-isolation", false}, {"G0-process", "strong-session-read-uncommitted", true},
		{"G1a", "read-committed", true}, {"lost-update", "snapshot-isolation", true}, {"G-single-item-realtime", "strong-serializable", true},
	} {
		a := AdviceOn(c.anomaly, expecting(t, c.expect, c.anomaly))
		all := strings.Join(slices.Concat(a.Causes, a.Next), "\n")
		if strings.Contains(all, "weaker level") != c.cause || strings.Contains(all, "expect less with") != c.cause {
			t.Errorf("%s at %s: a weaker level: want %v in\n%s", c.anomaly, c.expect, c.cause, all)
		}
	}
}

// A form has a page of its own.
func TestFormPage(t *testing.T) {
	for _, anomaly := range isolation.AnomalyNames() {
		_, _, form := formOf(anomaly)
		p, ok := FormPage(anomaly)
		if ok != form {
			t.Errorf("%s: a page of a form: %v", anomaly, ok)
		}
		for _, part := range []string{"What happened", "Levels that forbid it", "Usual causes", "What to do"} {
			if ok && p.Section(part) == "" {
				t.Errorf("%s has no %q", anomaly, part)
			}
		}
	}
	p, _ := FormPage("g-single-item-REALTIME")
	if example := p.Section("Example"); !strings.Contains(example, "`G-single-item-realtime`") || strings.Contains(example, "process") {
		t.Errorf("not the example of the form: %s", example)
	}
	if p, _ := FormPage("Read skew with session order"); p.Title != "Read skew with session order" {
		t.Errorf("by its title it is %q", p.Title)
	}
	if _, ok := FormPage("lost-update-realtime"); ok {
		t.Error("lost-update-realtime has a page of a form")
	}
	if _, ok := FormPage("G9-realtime"); ok {
		t.Error("G9-realtime has a page")
	}
}
