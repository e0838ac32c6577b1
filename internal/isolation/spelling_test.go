package isolation

import (
	"regexp"
	"strings"
	"testing"
)

// TestPatternsOfNames: the patterns take what the parser takes, and hardly more.
func TestPatternsOfNames(t *testing.T) {
	levels := regexp.MustCompile(`^\s*` + LevelPattern() + `\s*$`)
	settings := regexp.MustCompile(`^\s*` + SettingPattern() + `\s*$`)
	spellings := func(name string) []string {
		return []string{
			name, strings.ToUpper(name), " " + name + " ", strings.ReplaceAll(name, "-", "_"), strings.ReplaceAll(name, "-", " "), strings.ReplaceAll(name, "-", ""),
			strings.ReplaceAll(name, "izab", "isab"), "strict " + name, "Strong_" + name, "strong-session-" + name, "session" + name, "x" + name, name + "x", name[1:],
			strings.Replace(name, "izable", "iseable", 1), "foo/" + name, name + "/foo",
		}
	}
	took := 0
	for _, name := range append(EveryName(), "g-si", "dirty-read", "all") {
		for _, text := range spellings(name) {
			_, err := ParseLevel(text)
			if got := levels.MatchString(text); got != (err == nil) && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(text)), "g-") {
				t.Errorf("level %q: %v, want %v", text, got, err)
			}
			if err == nil {
				took++
			}
		}
	}
	for i := range products {
		p := &products[i]
		for _, product := range append([]string{p.name, "nosql"}, p.others...) {
			for _, setting := range append(p.names(), "/ru", "/rc", "/RR", "/ser", "/s", "/si", "/snapshot", "/Snapshot Isolation", "/foo", "/") {
				for _, text := range spellings(product + setting[strings.Index(setting, "/"):]) {
					_, known, err := ParseExpected(text)
					if got := settings.MatchString(text); got != (err == nil && known != "") {
						t.Errorf("setting %q: %v, want %v", text, got, err)
					}
					if err == nil {
						took++
					}
				}
			}
		}
	}
	if took < 1000 {
		t.Errorf("%d texts are names", took)
	}
}
