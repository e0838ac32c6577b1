package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/isowatch/isowatch/internal/app"
)

func manCommand(t *terminal) *cobra.Command {
	dir := ""
	c := &cobra.Command{
		Use:   "man",
		Short: "Print the man page, or write the man pages of all commands to a folder",
		Long: "Man prints the page monitor(1). With --dir it writes a page for each command: monitor.1, monitor-run.1 and so on.\n\n" +
			"  monitor man | man -l -\n" +
			"  monitor man --dir /usr/local/share/man/man1",
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			header := &doc.GenManHeader{Title: "MONITOR", Section: "1", Source: "Isowatch " + app.BuildInfo()[0], Manual: "Isowatch", Date: new(time.Time)}
			if built := app.BuildTime(); !built.IsZero() {
				header.Date = &built
			}
			if dir == "" {
				return doc.GenMan(c.Root(), header, t.stdout)
			}
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				return usageError{fmt.Errorf("--dir %s: it is no folder", dir)}
			}
			header.Title = "" // each page has that of its command
			return doc.GenManTree(c.Root(), header, dir)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "folder for the pages of all commands")
	return c
}
