package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpIsNarrow: the longest flag with its type sets the column in which all
// descriptions of a command begin.
func TestHelpIsNarrow(t *testing.T) {
	const most = 50
	flags := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			flags++
			if name, _ := pflag.UnquoteUsage(f); len(f.Name)+len(name) > most {
				t.Errorf("%s: --%s %s takes %d columns, most are %d", c.CommandPath(), f.Name, name, len(f.Name)+len(name), most)
			}
		})
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(rootCommand(&terminal{}, new(bool)))
	if flags < 50 {
		t.Errorf("only %d flags", flags)
	}
}
