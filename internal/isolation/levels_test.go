package isolation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
)

// Lists of levels as users write them: each level once, in the order of its first mention.
func TestParseLevels(t *testing.T) {
	watched := isolation.LevelNames(isolation.Watched())
	all := isolation.LevelNames(isolation.Encoded())
	for text, want := range map[string]string{
		"serializable":                "serializable",
		" causal , read-committed":    "causal read-committed",
		"causal,causal":               "causal",
		"default":                     strings.Join(watched, " "),
		"default,read-committed":      strings.Join(watched, " ") + " read-committed",
		"read-committed,default":      "read-committed " + strings.Join(watched, " "),
		"snapshot-isolation, default": "snapshot-isolation serializable " + strings.Join(watched[2:], " "),
		"all":                         strings.Join(all, " "),
		"default,all":                 strings.Join(watched, " ") + " " + without(all, watched),
		"":                            "error: no level is named: want one such as serializable, snapshot-isolation, causal, read-committed",
		"ser,,si":                     "error: no level is named: want one such as serializable, snapshot-isolation, causal, read-committed",
		"Default,ALL":                 strings.Join(watched, " ") + " " + without(all, watched),
		"SI,repeatable read,RC":       "snapshot-isolation repeatable-read read-committed",
		"ser,mysql":                   "error: mysql is a product, and goes with expect (--expect mysql/read-uncommitted): among levels write a level such as serializable, snapshot-isolation, causal, read-committed",
		"mysql/Repeatable Read":       "error: mysql/repeatable-read is a product's setting, and goes with expect (--expect mysql/repeatable-read): among levels write what it stands for, strong-session-read-committed",
		"default,serialisable":        "serializable snapshot-isolation strong-session-serializable strong-session-snapshot-isolation",
		"default;read-committed":      "error: no isolation level is called \"default;read-committed\"",
	} {
		ls, err := isolation.ParseLevels(text)
		got := strings.Join(isolation.LevelNames(ls), " ")
		if err != nil {
			got, _, _ = strings.Cut("error: "+err.Error(), "; there are")
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func without(all, some []string) string {
	rest := slices.DeleteFunc(slices.Clone(all), func(l string) bool { return slices.Contains(some, l) })
	return strings.Join(rest, " ")
}
