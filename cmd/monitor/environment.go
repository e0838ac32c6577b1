package main

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/internal/config"
)

const variablePrefix = "ISOWATCH_"

// warnOfUnknown tells of variables that look like settings and are none: a misspelt one
// would be a default.
func (t *terminal) warnOfUnknown(c *cobra.Command, s *config.Service) {
	shown, err := s.YAML() // names the variables of secrets
	if err != nil {
		return
	}
	known := map[string]bool{passwordVariable: true}
	knownVariables(c.Root(), known)
	for _, x := range t.environ() {
		name, _, _ := strings.Cut(x, "=")
		if strings.HasPrefix(name, variablePrefix) && !known[name] && !serviceLink.MatchString(name) && !bytes.Contains(shown, []byte(name)) {
			t.say("monitor: warning: the environment sets %s, which is not a setting", printable(name))
		}
	}
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
