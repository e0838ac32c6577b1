package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
		Long: "Man prints the page monitor(1). With --dir it writes a page for each command: monitor.1, monitor-run.1 and so on.\n" +
			"It makes the folder if there is none. The pages have the date of SOURCE_DATE_EPOCH, or of the revision.\n\n" +
			"  monitor man | man -l -\n" +
			"  monitor man --dir /usr/local/share/man/man1",
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			date, err := manDate(t.lookupEnv)
			if err != nil {
				return err
			}
			if dir == "" {
				return writeMan(t.stdout, c.Root(), date)
			}
			if t.public != nil {
				t.public()
			}
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return usageError{fmt.Errorf("--dir: %w: name a folder that you may write to", err)}
			}
			return writeMans(dir, c.Root(), date)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "folder for the pages of all commands; it is made if needed")
	return c
}

// manDate is the date of the pages, which does not depend on when they are made; zero: they have none.
func manDate(lookup func(string) (string, bool)) (time.Time, error) {
	epoch, _ := lookup("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return app.BuildTime(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, usagef("environment SOURCE_DATE_EPOCH %q: want seconds since 1970", printable(epoch))
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// writeMans writes the pages of c and of its subcommands.
func writeMans(dir string, c *cobra.Command, date time.Time) error {
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := writeMans(dir, sub, date); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := writeMan(&page, c, date); err != nil {
		return err
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	return os.WriteFile(filepath.Join(dir, name), page.Bytes(), 0o666)
}

// writeMan writes the page of c.
func writeMan(w io.Writer, c *cobra.Command, date time.Time) error {
	var page bytes.Buffer
	header := &doc.GenManHeader{Section: "1", Source: "Isowatch " + app.BuildInfo()[0], Manual: "Isowatch", Date: &date}
	if err := doc.GenMan(c, header, &page); err != nil {
		return err
	}
	text := page.Bytes()
	if date.IsZero() {
		text = bytes.Replace(text, []byte(`"Jan 0001"`), []byte(`""`), 1)
	}
	_, err := w.Write(text)
	return err
}
