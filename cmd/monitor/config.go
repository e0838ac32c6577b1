package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/internal/config"
)

func configCommand(t *terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Check a configuration file, show the settings in effect, or print the schema",
	}
	subcommands(c)
	c.AddCommand(configCheckCommand(t), configShowCommand(t), configSchemaCommand(t))
	return c
}

func configCheckCommand(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "List all faults of configuration files, with their lines",
		Long: "Check reads configuration files of 'monitor run --config' and lists all their faults. It opens\n" +
			"no other file: files of secrets and certificates need not exist.\n\n" +
			"Exit codes: 0 all are valid, 254 one is not.",
		Args: arguments(1, -1),
		RunE: func(_ *cobra.Command, files []string) error {
			wrong := false
			for _, file := range files {
				var s config.Service
				text, err := readConfig(file)
				if err == nil {
					s, err = config.Parse(file, text, nil)
				}
				if err != nil {
					wrong = true
					t.fault(err.Error())
					continue
				}
				t.say("%s: nothing is wrong", file)
				for _, source := range s.SourceNames() {
					t.tellNotes(s.WatchOf(source))
				}
			}
			if wrong {
				return exitError{exitUsage}
			}
			return nil
		},
	}
}

func configShowCommand(t *terminal) *cobra.Command {
	r := newSettings()
	c := &cobra.Command{
		Use:   "show",
		Short: "Print all settings in effect, with their defaults, as a configuration file",
		Long: "Show takes the flags of 'monitor run' and prints the settings that run would use, as a configuration file. Secrets are named\n" +
			"by their file or variable. Logins in URLs, and all that follows the host, are masked.",
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := r.effective(c.Flags(), t.lookupEnv)
			if t.unread != nil {
				err = usageError{errors.Join(t.unread, err)}
			}
			if s.Log.Format == "json" {
				t.asJSON() // the file can ask for it, even if something in it is wrong
			}
			if err != nil {
				return err
			}
			t.warnOfUnknown(c, &s)
			text, err := s.YAML()
			if err == nil {
				_, err = t.stdout.Write(text)
			}
			return err
		},
	}
	r.register(c.Flags())
	return c
}

func configSchemaCommand(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of configuration files",
		Long: "Schema prints the JSON schema (draft 7) of the files of 'monitor run --config', for editors and for charts. It has the names of\n" +
			"all keys and the forms of their values. 'monitor config check' also finds faults of several values together.",
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := t.stdout.Write(config.Schema())
			return err
		},
	}
}
