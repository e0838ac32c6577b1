package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
)

func groupCommand(t *terminal) *cobra.Command {
	name, state, output, lease := "", "", "text", time.Duration(0)
	c := &cobra.Command{
		Use:   "group",
		Short: "Show which member of a group watches which unit",
		Long: "Group lists the units of a group of monitors, with their owners. A unit is a NATS stream, a subject of a stream, or a\n" +
			"Kafka topic. The command looks for as long as a lease, unless all members answer sooner. For a server of the store it\n" +
			"waits 5 s.\n\n" +
			"Exit codes: 0 each unit has an owner, 254 the store cannot be read or has no such group. 2: a unit has none\n" +
			"for longer than a lease, or its owner does not watch it.\n" +
			"Without any unit the code is 2 too.",
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if state == "" {
				return usagef("name the store of the group with --group-state")
			}
			s, err := app.OpenGroup(c.Context(), state, name)
			if err != nil {
				return err
			}
			defer s.Close()
			if lease < 0 || lease > 0 && lease < config.LeastLease {
				return usagef("--group-lease %v: at least %v", lease, config.LeastLease)
			}
			view, err := app.ReadGroup(c.Context(), s, lease)
			if err != nil {
				return err
			}
			if err := tellGroup(t, view, output); err != nil {
				return err
			}
			alone := func(u app.GroupUnit) bool { return u.State == app.UnitFree || u.UnwatchedSeconds != nil }
			if len(view.Units) == 0 || slices.ContainsFunc(view.Units, alone) {
				return exitError{exitUnknown}
			}
			return nil
		},
	}
	f := c.Flags()
	groupFlags(c, &name, &state)
	f.DurationVar(&lease, "group-lease", lease, "lease of the group's members; 0: as they tell it")
	f.VarP(choiceValue{&output, []string{"text", "jsonl"}}, "output", "o", "form of the output")
	return c
}

func groupFlags(c *cobra.Command, name, state *string) {
	c.Flags().StringVar(name, "group", "", "name of the group; not needed if the store has one group")
	c.Flags().StringVar(state, "group-state", "", "store of the group: nats://HOST/BUCKET, s3://BUCKET/PREFIX or file:///DIR")
}

func tellGroup(t *terminal, v *app.GroupView, output string) error {
	if len(v.Units) == 0 {
		t.say("monitor: the group has no units now: its members write them when they join, and write lost ones again within half a minute")
	}
	for _, key := range v.Damaged {
		t.say("monitor: the record %s of the group's store cannot be read: its members write it again", printable(key))
	}
	split := map[string][]string{} // by source
	var out []byte
	for _, m := range v.Members {
		if m.OtherSettings && output != "text" {
			t.say("monitor: the member %s takes no unit: it watches with other settings than the others%s", printable(m.Member), inWhat(&m))
		}
		if m.OtherSettings && output == "text" {
			out = fmt.Appendf(out, "member %s  takes no unit: it watches with other settings than the others%s\n", printable(m.Member), inWhat(&m))
		} else if output == "text" {
			out = fmt.Appendf(out, "member %s  %s\n", printable(m.Member), finding.Counted(int64(m.Units), "unit", "units"))
		}
	}
	for i := range v.Units {
		u := &v.Units[i]
		if output == "text" {
			out = append(out, unitLine(u)...)
		} else {
			line, err := json.Marshal(u)
			if err != nil {
				return err
			}
			out = append(append(out, line...), '\n')
		}
		for _, source := range u.Split {
			split[source] = append(split[source], u.Unit)
		}
	}
	if _, err := t.stdout.Write(out); err != nil {
		return err
	}
	for _, source := range slices.Sorted(maps.Keys(split)) {
		t.say(
			"monitor: the source %s is in several units: %s. Its levels are unknown. Give it one stream, subject or topic",
			printable(source),
			printable(strings.Join(split[source], ", ")),
		)
	}
	return nil
}

// inWhat says in which settings a member differs.
func inWhat(m *app.GroupMember) string {
	if m.Differs == "" {
		return ""
	}
	return " (" + printable(m.Differs) + ")"
}

// unitLine is a line of text about a unit.
func unitLine(u *app.GroupUnit) string {
	state := u.State
	if u.UnwatchedSeconds != nil {
		state = "unwatched"
	}
	line := fmt.Sprintf("%s  %s  term %d  %s", printable(u.Unit), state, u.Term, printable(u.Owner))
	if u.UnwatchedSeconds != nil {
		line += fmt.Sprintf("  for %.1f s", *u.UnwatchedSeconds)
	}
	if u.Sources != nil && u.Lag != nil && u.StateAge != nil {
		line += fmt.Sprintf(
			"  %s  %s behind  state written %.1f s ago",
			finding.Counted(int64(*u.Sources), "source", "sources"),
			finding.Counted(*u.Lag, "record", "records"),
			*u.StateAge,
		)
	}
	return strings.TrimRight(line, " ") + "\n"
}
