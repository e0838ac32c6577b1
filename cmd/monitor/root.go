package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/internal/app"
)

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, t terminal) int {
	if asksForJSON(args, t.lookupEnv) {
		t.asJSON()
	}
	began := false // the command line was understood
	root := rootCommand(&t, &began)
	root.SetArgs(args)
	at := root
	err := guarded(func() (err error) {
		at, err = root.ExecuteContextC(ctx)
		return err
	})
	if !began && err != nil {
		err = cmp.Or(namedCommand(root, args), err)
	}
	if err != nil && !began {
		err = usageError{err}
	}
	code, tell := codeOf(err)
	if tell {
		t.fail(err)
		if !began {
			t.say("See '%s --help'.", at.CommandPath())
		}
	}
	return code
}

func rootCommand(t *terminal, began *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "monitor",
		Short: "Tell when a database breaks the isolation level that it promises",
		Long: "Monitor reads the transactions that clients ran against a database, as the clients saw them. It reports results\n" +
			"that contradict the isolation level that the database promises.\n\n" +
			"Try 'monitor demo' first: it needs no database and no setup.",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			if err := refusePasswords(c, args); err != nil {
				return err
			}
			err := fromEnvironment(c.Flags(), t.lookupEnv)
			if t.unread = err; err != nil && c.Flags().Lookup("config") == nil {
				return err // otherwise it is told together with what is wrong with the file
			}
			*began = true
			if path := c.CommandPath(); path != "monitor run" && path != "monitor config show" { // they know more, and tell it themselves
				t.warnOfMisspelt(c)
			}
			t.tellTaken(c.Flags())
			return nil
		},
	}
	logFormat := "text"
	root.PersistentFlags().Var(choiceValue{&logFormat, logFormats}, "log-format", "form of what is written to standard error ["+variableOf("log-format")+"]")
	root.SetFlagErrorFunc(inOurWords)
	root.SetHelpCommand(helpCommand())
	root.DisableAutoGenTag = true // man pages are the same whenever they are made
	root.SetIn(t.stdin)
	root.SetOut(t.stdout)
	root.SetErr(t.stderr)
	root.AddCommand(
		demoCommand(t),
		probeCommand(t),
		workloadCommand(t),
		runCommand(t),
		checkCommand(t),
		convertCommand(t),
		replayCommand(t),
		findingsCommand(t),
		groupCommand(t),
		explainCommand(t),
		validateCommand(t),
		selfTestCommand(t),
		configCommand(t),
		manCommand(t),
		versionCommand(t),
	)
	b := app.BuildInfo()
	root.Version = fmt.Sprintf("%s, revision %s, %s", b[0], b[1], b[2])
	root.SetVersionTemplate("monitor {{.Version}}\n")
	root.InitDefaultCompletionCmd()
	for _, sub := range root.Commands() {
		if sub.Name() != "completion" {
			continue
		}
		subcommands(sub)
		for _, shell := range sub.Commands() {
			shell.Args = arguments(0, 0)
		}
	}
	nameVariables(root)
	completeValues(root)
	bashLists(root)
	return root
}

// nameVariables puts the variable of each flag into its help.
func nameVariables(c *cobra.Command) {
	for _, sub := range c.Commands() {
		sub.Flags().VisitAll(func(f *pflag.Flag) { f.Usage += " [" + variableOf(f.Name) + "]" })
		nameVariables(sub)
	}
}

// variableOf is the name of a flag in the environment.
func variableOf(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets the flags that the command line does not.
func fromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var faults []error
	flags.VisitAll(func(f *pflag.Flag) {
		value, ok := lookup(variableOf(f.Name))
		if f.Changed || !ok || f.Name == "help" || isServiceLink(f.Name, value) {
			return
		}
		err := flags.Set(f.Name, value)
		if wrong := (*pflag.InvalidValueError)(nil); errors.As(err, &wrong) {
			faults = append(faults, wrongValue("environment "+variableOf(f.Name), wrong))
		} else if err != nil {
			faults = append(faults, fmt.Errorf("environment %s: %w", variableOf(f.Name), err))
		}
	})
	return errors.Join(faults...)
}

// isServiceLink says whether Kubernetes put the variable there: a service called
// isowatch-nats gives every pod beside it ISOWATCH_NATS_PORT=tcp://ADDRESS:PORT.
func isServiceLink(flag, value string) bool {
	return strings.HasSuffix(flag, "-port") && strings.Contains(value, "://")
}
