package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/internal/prose"
)

// TestHelpIsPlain: the help of every command and flag keeps to short sentences and plain
// words, as the documentation does.
func TestHelpIsPlain(t *testing.T) {
	texts := 0
	plain := func(of, text string) {
		texts++
		for _, fault := range prose.Faults(prose.Help(text)) {
			t.Errorf("%s: %s", of, fault)
		}
	}
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		plain(c.CommandPath(), c.Short)
		plain(c.CommandPath(), c.Long)
		c.Flags().VisitAll(func(f *pflag.Flag) { plain(c.CommandPath()+" --"+f.Name, f.Usage) })
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(rootCommand(&terminal{}, new(bool)))
	if texts < 200 {
		t.Errorf("only %d texts", texts)
	}
}
