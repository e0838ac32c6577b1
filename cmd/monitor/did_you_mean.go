package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/isolation"
)

// meantFlag adds the nearest flag of the command to an error about one that it does not have.
func meantFlag(c *cobra.Command, err error) error {
	_, name, unknown := strings.Cut(err.Error(), "unknown flag: --")
	if !unknown {
		return err
	}
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	c.Flags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	if best := isolation.Closest(name, names); best != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, best)
	}
	return err
}

// tellTaken says which level is taken where a name that was given has other meanings elsewhere.
func (t *terminal) tellTaken(flags *pflag.FlagSet) {
	var given []string
	if f := flags.Lookup("expect"); f != nil {
		if v, ok := f.Value.(expectValue); ok {
			given = append(given, *v.text)
		}
	}
	if f := flags.Lookup("levels"); f != nil {
		if v, ok := f.Value.(levelsValue); ok {
			given = append(given, v.given()...)
		}
	}
	for _, names := range given {
		for name := range strings.SplitSeq(names, ",") {
			if text := isolation.Taken(name); text != "" {
				t.say("note: %s", text)
			}
		}
	}
}
