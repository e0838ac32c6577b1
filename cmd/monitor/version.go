package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/internal/app"
)

func versionCommand(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and revision of this program",
		Args:  arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := app.BuildInfo()
			_, err := fmt.Fprintf(t.stdout, "monitor %s, revision %s, %s\n", b[0], b[1], b[2])
			return err
		},
	}
}
