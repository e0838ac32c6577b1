package alert

import (
	"net/url"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// Silence is a set of alerts that Alertmanager can silence.
type Silence struct{ Text, URL string }

// quoted escapes a label's value in a matcher. Alertmanager's form reads it as a string of JSON, and its API as
// one with these three escapes.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// percent encodes all but letters, digits and -_.~ by percent signs. The form does not take + for a space.
func percent(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// Silences are links to Alertmanager's form of a new silence, at base. One is for the alerts of a
// pattern. The other is for all alerts of its source and anomaly: alerts of rules have no pattern.
// labels are the sink's own, which take the place of ours.
func Silences(base string, labels []string, p Pattern, kind finding.Kind) []Silence {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	own := map[string]bool{}
	for _, l := range labels {
		name, _, _ := strings.Cut(l, "=")
		own[name] = true
	}
	link := func(matchers ...[3]string) string {
		var all []string
		for _, m := range matchers {
			if !own[m[0]] {
				all = append(all, m[0]+m[1]+`"`+quoted.Replace(m[2])+`"`)
			}
		}
		return u.String() + "#/silences/new?filter=" + percent("{"+strings.Join(all, ", ")+"}")
	}
	source, anomaly := [3]string{"source", "=", label(p.Source)}, [3]string{"anomaly", "=", label(p.Anomaly)}
	var all []Silence
	if !own["pattern"] {
		one := link(source, anomaly, [3]string{"pattern", "=", p.Key()})
		if kind == finding.KindHorizon { // a replay may confirm it: see PatternOf
			yes := p
			yes.Anomaly = string(finding.ResolvedViolated)
			one = link(source, [3]string{"pattern", "=~", p.Key() + "|" + yes.Key()})
		}
		all = append(all, Silence{"Silence its alerts in Alertmanager", one})
	}
	if !own["source"] && !own["anomaly"] {
		all = append(all, Silence{"Silence all alerts of this anomaly and source", link(source, anomaly)})
	}
	return all
}
