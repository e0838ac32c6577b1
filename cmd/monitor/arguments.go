package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/isolation"
)

// called is the command without the name of the program, "" for the program itself.
func called(c *cobra.Command) string {
	_, name, _ := strings.Cut(c.CommandPath(), " ")
	return name
}

// oneOf wants one argument, which is a what.
func oneOf(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("%s wants %s", called(c), what)
		case 1:
			return nil
		}
		return fmt.Errorf("%s takes only %s: %q is too much", called(c), what, args[1])
	}
}

// files wants at least one file.
func files(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s wants at least one file", called(c))
	}
	return nil
}

// nothing wants no argument.
func nothing(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes flags only: %q is too much", called(c), args[0])
	}
	return nil
}

// group makes c, which only has commands, refuse what is none of them.
func group(c *cobra.Command) {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return noCommand(c, args[0])
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
}

// noCommand says that c has no such command, and which may be meant.
func noCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	text := fmt.Sprintf("there is no command %q", strings.TrimSpace(called(c)+" "+name))
	if best := isolation.Closest(name, names); best != "" {
		return fmt.Errorf("%s; did you mean %s?", text, strings.TrimSpace(called(c)+" "+best))
	} else if len(names) <= mostChoices {
		return fmt.Errorf("%s: want %s", text, strings.Join(names, ", "))
	}
	return errors.New(text)
}

// helpOf makes 'monitor help NAME' refuse what is no command.
func helpOf(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return // there is no such command
	}
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		c := root
		for _, name := range args {
			i := -1
			for k, sub := range c.Commands() {
				if sub.Name() == name || sub.HasAlias(name) {
					i = k
				}
			}
			if i < 0 {
				return usageError{noCommand(c, name)}
			}
			c = c.Commands()[i]
		}
		c.InitDefaultHelpFlag()
		return c.Help()
	}
}
