package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/internal/isolation"
)

// Faults of a command line are told in our words: Cobra and pflag name Go's functions, and do not say
// what to do.

// arguments wants at least min arguments, and at most max; max -1 is any number.
func arguments(min, max int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < min:
			return fmt.Errorf("an argument is missing: %s", c.UseLine())
		case max == 0 && len(args) > 0:
			return fmt.Errorf("'%s' takes no arguments, and was given %q", c.CommandPath(), printable(args[0]))
		case max > 0 && len(args) > max:
			return fmt.Errorf("one argument too many, %q: %s", printable(args[max]), c.UseLine())
		}
		return nil
	}
}

// namedCommand says what is wrong if the command line names a command that there is not.
func namedCommand(root *cobra.Command, args []string) error {
	_, _, err := root.Find(args)
	name := ""
	if err == nil {
		return nil
	} else if _, e := fmt.Sscanf(err.Error(), "unknown command %q", &name); e != nil {
		return err
	}
	return noCommand(root, name)
}

// subcommands makes c print its help, or say that it has no such subcommand.
func subcommands(c *cobra.Command) {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return noCommand(c, args[0])
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
}

// noCommand says that c has no command of that name, and which one is nearest.
func noCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, sub.Name())
		}
	}
	if best := isolation.Closest(name, names); best != "" {
		return fmt.Errorf("unknown command %q; did you mean %s?", printable(name), best)
	}
	if len(names) <= 5 {
		return fmt.Errorf("unknown command %q; there are %s", printable(name), strings.Join(names, ", "))
	}
	return fmt.Errorf("unknown command %q", printable(name))
}

// helpCommand is help, which fails for a command that there is not.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		Args:  arguments(0, -1),
		ValidArgsFunction: func(c *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, sub := range c.Root().Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, sub.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			at := c.Root()
			for _, name := range args {
				i := slices.IndexFunc(at.Commands(), func(sub *cobra.Command) bool { return sub.Name() == name })
				if i < 0 {
					return usageError{noCommand(at, name)}
				}
				at = at.Commands()[i]
			}
			return at.Help()
		},
	}
}

// inOurWords says what is wrong with a flag of c, or with the command's name.
func inOurWords(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var without *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		return wrongValue("--"+value.GetFlag().Name, value)
	case errors.As(err, &without):
		f := without.GetFlag()
		if form := f.Value.Type(); strings.ContainsAny(form, "|,/") {
			return fmt.Errorf("--%s needs a value: --%s %s", f.Name, f.Name, form)
		}
		return fmt.Errorf("--%s needs a value", f.Name)
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("unknown flag: -%s", unknown.GetSpecifiedName())
	}
	return meantFlag(c, err)
}

// wrongValue says what the flag, or its variable, wants instead of its value.
func wrongValue(name string, fault *pflag.InvalidValueError) error {
	cause := fault.Unwrap()
	var number *strconv.NumError
	switch wanted := map[string]string{
		"int": "a whole number", "int64": "a whole number", "float64": "a number", "bool": "true or false",
	}[fault.GetFlag().Value.Type()]; {
	case errors.As(cause, &number) && errors.Is(number, strconv.ErrRange):
		return fmt.Errorf("%s %q: the number is too large", name, printable(fault.GetValue()))
	case errors.As(cause, &number) && wanted != "":
		return fmt.Errorf("%s %q: want %s", name, printable(fault.GetValue()), wanted)
	case fault.GetFlag().Value.Type() == "duration":
		return fmt.Errorf("%s %q: want a duration such as 5s, 1m30s or 2h", name, printable(fault.GetValue()))
	}
	// Some causes name the flag and the value themselves.
	why := strings.TrimPrefix(cause.Error(), fault.GetFlag().Name+" ")
	return fmt.Errorf("%s %q: %s", name, printable(fault.GetValue()), strings.TrimPrefix(why, strconv.Quote(fault.GetValue())+": "))
}
