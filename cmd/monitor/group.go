package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
)

func groupCommand(t *terminal) *cobra.Command {
	name, state, output, lease := "", "", "text", config.DefaultLease
	c := &cobra.Command{
		Use:   "group",
		Short: "Show which member of a group watches which unit",
		Long: "Group lists the units of a group of monitors, with their owners. It looks for as long as a lease at most.\n\n" +
			"Exit codes: 0 each unit has an owner, 2 one has none for longer than a lease, 254 the store cannot be read.\n" +
			"Without any unit the code is 2 too.",
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if name == "" {
				return usagef("name the group with --group")
			}
			s, err := app.OpenGroup(c.Context(), state, name)
			if err != nil {
				return err
			}
			defer s.Close()
			units, err := app.ReadGroup(c.Context(), s, lease)
			if err != nil {
				return err
			}
			split, err := app.SplitSources(c.Context(), s)
			if err != nil {
				return err
			}
			for i := range units {
				for _, source := range slices.Sorted(maps.Keys(split)) {
					if slices.Contains(split[source], units[i].Unit) {
						units[i].Split = append(units[i].Split, source)
					}
				}
			}
			if err := tellUnits(t, units, output); err != nil {
				return err
			}
			for _, source := range slices.Sorted(maps.Keys(split)) {
				t.say("monitor: the source %s is in several units: %s. Its levels are unknown. Give it one stream, subject or topic", printable(source), printable(strings.Join(split[source], ", ")))
			}
			free := func(u app.GroupUnit) bool { return u.State == app.UnitFree }
			if len(units) == 0 || slices.ContainsFunc(units, free) {
				return exitError{exitUnknown}
			}
			return nil
		},
	}
	f := c.Flags()
	groupFlags(c, &name, &state)
	f.DurationVar(&lease, "group-lease", lease, "lease of the group's members")
	f.VarP(choiceValue{&output, []string{"text", "jsonl"}}, "output", "o", "form of the output")
	return c
}

func groupFlags(c *cobra.Command, name, state *string) {
	c.Flags().StringVar(name, "group", "", "name of the group")
	c.Flags().StringVar(state, "group-state", "", "store of the group: nats://HOST/BUCKET, s3://BUCKET/PREFIX or file:///DIR")
}

func tellUnits(t *terminal, units []app.GroupUnit, output string) error {
	if len(units) == 0 {
		t.say("monitor: the group has no units: nobody has joined it")
	}
	for i := range units {
		u := &units[i]
		line, err := json.Marshal(u)
		if output == "text" {
			line = fmt.Appendf(nil, "%s  %s  term %d  %s", printable(u.Unit), u.State, u.Term, printable(u.Owner))
		}
		if err == nil {
			_, err = t.stdout.Write(append(line, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
