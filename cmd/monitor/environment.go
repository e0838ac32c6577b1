package main

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
)

const variablePrefix = "ISOWATCH_"

// warnOfUnknown tells of variables that look like settings and are none: a misspelt one
// would be a default.
func (t *terminal) warnOfUnknown(c *cobra.Command, s *config.Service) {
	shown, err := s.YAML() // names the variables of secrets
	if err != nil {
		return
	}
	t.unknownVariables(c, func(name, meant string) {
		switch {
		case bytes.Contains(shown, []byte(name)):
		case meant != "":
			t.say("monitor: warning: the environment sets %s, which is not a setting: did you mean %s?", printable(name), meant)
		default:
			t.say("monitor: warning: the environment sets %s, which is not a setting", printable(name))
		}
	})
}

// warnOfMisspelt tells of variables that are near the name of a setting. The settings of a service,
// which may name variables of secrets, are not known to the command.
func (t *terminal) warnOfMisspelt(c *cobra.Command) {
	t.unknownVariables(c, func(name, meant string) {
		if meant != "" {
			t.say("monitor: warning: the environment sets %s, which is not a setting: did you mean %s?", printable(name), meant)
		}
	})
}

// unknownVariables gives the variables that look like settings and are none, each with the one that it is near to.
func (t *terminal) unknownVariables(c *cobra.Command, tell func(name, meant string)) {
	if t.environ == nil { // a test's terminal
		return
	}
	known := map[string]bool{passwordVariable: true}
	knownVariables(c.Root(), known)
	names := slices.Sorted(maps.Keys(known))
	for _, x := range t.environ() {
		name, _, _ := strings.Cut(x, "=")
		if strings.HasPrefix(name, variablePrefix) && !known[name] && !serviceLink.MatchString(name) {
			tell(name, near(name, names))
		}
	}
}

// near is the known variable that the name, without what all names begin with, differs least from.
func near(name string, known []string) string {
	rest := make([]string, len(known))
	for i, k := range known {
		rest[i] = strings.TrimPrefix(k, variablePrefix)
	}
	if meant := isolation.Closest(strings.TrimPrefix(name, variablePrefix), rest); meant != "" {
		return variablePrefix + meant
	}
	return ""
}

// serviceLink are the variables that Kubernetes makes for services whose names begin
// with isowatch.
var serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// knownVariables adds the variables of all commands to known: one environment may serve several
// commands.
func knownVariables(c *cobra.Command, known map[string]bool) {
	for _, sub := range c.Commands() {
		sub.Flags().VisitAll(func(f *pflag.Flag) { known[variableOf(f.Name)] = true })
		knownVariables(sub, known)
	}
}
