package main

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
)

// completeValues has the shell complete the values of flags that have a known set of them.
func completeValues(c *cobra.Command) {
	own := func(f *pflag.Flag) {
		if complete := completion(f); complete != nil {
			// It fails only where a completion is registered twice.
			_ = c.RegisterFlagCompletionFunc(f.Name, complete)
		}
	}
	c.Flags().VisitAll(own)
	c.PersistentFlags().VisitAll(own)
	for _, sub := range c.Commands() {
		completeValues(sub)
	}
}

// completion are the values of the flag; nil: any text is one.
func completion(f *pflag.Flag) cobra.CompletionFunc {
	levels := isolation.LevelNames(isolation.AllLevels())
	switch v := f.Value.(type) {
	case choiceValue:
		return cobra.FixedCompletions(v.choices, cobra.ShellCompDirectiveNoFileComp)
	case formatValue:
		return cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp)
	case isolationValue:
		return cobra.FixedCompletions(hyphened(sqlLevels), cobra.ShellCompDirectiveNoFileComp)
	case expectValue:
		for _, s := range isolation.Settings("") {
			levels = append(levels, s.String())
		}
		return cobra.FixedCompletions(levels, cobra.ShellCompDirectiveNoFileComp)
	case levelsValue:
		return list(slices.Concat([]string{"default", "all"}, levels))
	case contractValue:
		return list(config.ContractItems())
	}
	return nil
}

// hyphened are names with blanks as a shell needs no quotes for.
func hyphened(names []string) []string {
	var all []string
	for _, n := range names {
		all = append(all, strings.ReplaceAll(n, " ", "-"))
	}
	return all
}

// list completes the last of several values between commas. It leaves out values that already stand
// before it. For KEY=VALUE it leaves out the keys that already do.
func list(values []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		end := strings.LastIndex(typed, ",") + 1
		before, last := typed[:end], typed[end:]
		given := map[string]bool{}
		for item := range strings.SplitSeq(before, ",") {
			key, _, _ := strings.Cut(strings.TrimSpace(item), "=")
			given[key] = true
		}
		var all []string
		for _, v := range values {
			if key, _, _ := strings.Cut(v, "="); !given[key] && strings.HasPrefix(v, last) {
				all = append(all, before+v)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// bashLists makes bash complete lists with "=" in them, such as capture=complete,start=. Cobra's
// script escapes the commas of a completion. Then it no longer finds the typed text in it.
func bashLists(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	bash, _, err := root.Find([]string{"completion", "bash"})
	if err != nil {
		return // completion is not offered for any shell
	}
	bash.RunE = func(c *cobra.Command, _ []string) error {
		var script bytes.Buffer
		plain, _ := c.Flags().GetBool("no-descriptions")
		if err := root.GenBashCompletionV2(&script, !plain); err != nil {
			return err
		}
		first := "    __" + root.Name() + `_handle_special_char "$cur" :`
		_, err := strings.NewReplacer(first, `    COMPREPLY=("${COMPREPLY[@]//\\,/,}")`+"\n"+first).WriteString(root.OutOrStdout(), script.String())
		return err
	}
}
